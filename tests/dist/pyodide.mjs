// Runs a Python file in Pyodide: pyodide.mjs FOLDER-OF-PYODIDE WHEEL SOURCE CODE
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [pyodide, wheel, source, code] = process.argv.slice(2);
const { loadPyodide } = await import(pathToFileURL(`${pyodide}/pyodide.mjs`));
const python = await loadPyodide();
const packages = python.runPython("import site; site.getsitepackages()[0]");
python.unpackArchive(new Uint8Array(readFileSync(wheel)), "zip", { extractDir: packages });
python.FS.mkdirTree("/source");
python.FS.mount(python.FS.filesystems.NODEFS, { root: source }, "/source");
python.runPython(readFileSync(code, "utf8"));
