// plainjob over better-sqlite3, as a worker of the bench: node plainjob.mjs MODULES JOB
import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const [modules, text] = process.argv.slice(2);
const job = JSON.parse(text);
const require = createRequire(pathToFileURL(`${modules}/package.json`));
const Database = require("better-sqlite3");
const { better, defineQueue } = await import(
  pathToFileURL(`${modules}/node_modules/plainjob/dist/plainjob.js`).href
);

const database = new Database(job.path);
const queue = defineQueue({ connection: better(database), logger: { error() {}, info() {}, debug() {}, warn() {} } });
if (job.settings === "equal") database.pragma("synchronous = FULL");

const now = () => Number(process.hrtime.bigint()) / 1e9;
const found = { count: 0, busy: 0, calls: [], taken: [], cpu: 0 };

function cycle(serial, begin, end) {
  try {
    let since = now();
    const step = (call) => {
      const result = call();
      const ended = now();
      if (ended >= begin) found.calls.push(ended - since);
      since = ended;
      return result;
    };
    step(() => queue.add("bench", `${process.pid}-${serial}`));
    const taken = step(() => queue.getAndMarkJobAsProcessing("bench"));
    if (taken) {
      found.taken.push(String(taken.id));
      step(() => queue.markJobAsDone(taken.id));
    }
    if (since >= begin && since <= end) found.count += 1;
  } catch (error) {
    if (error.code !== "SQLITE_BUSY") throw error;
    found.busy += 1;
  }
}

if (job.fill) for (let at = 0; at < job.fill; at += 1) queue.add("bench", `fill-${at}`);
console.log("ready");
createInterface({ input: process.stdin }).once("line", (line) => {
  const [begin, end] = JSON.parse(line);
  const before = process.cpuUsage();
  for (let serial = 0; now() < end; serial += 1) cycle(serial, begin, end);
  const used = process.cpuUsage(before);
  found.cpu = (used.user + used.system) / 1e6;
  queue.close();
  process.stdout.write(`${JSON.stringify(found)}\n`, () => process.exit(0));
});
