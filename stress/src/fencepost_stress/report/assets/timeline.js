"use strict";
// The timeline of one run: calls a second, the workers with their faults, and a lane a run or key.
// A claim is [lane, process, start, lease end, end or null, fate, renewals], times in ms.

const OVERVIEW_PAD = 4, AXIS = 20, WORKER = 18, LANE = 16, PINNED = 36;
const PALETTE = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b8860b", "#56b4e9", "#7b61c4", "#8c6d4f"];

function colourOf(slot) {
  return slot < PALETTE.length ? PALETTE[slot] : `hsl(${(slot * 137.5) % 360} 55% 50%)`;
}

function seconds(ms, span) {
  const digits = Math.max(0, Math.min(5, 3 - Math.floor(Math.log10(Math.max(span, 1e-3) / 5))));
  return `${(ms / 1000).toFixed(digits)} s`;
}

class Timeline {
  constructor(section, data) {
    this.section = section;
    this.data = data;
    this.story = null;
    this.filter = "";
    this.overview = section.querySelector(".overview");
    this.scroller = section.querySelector(".lanes");
    this.canvas = this.scroller.querySelector("canvas");
    this.spacer = section.querySelector(".spacer");
    this.tip = section.querySelector(".tip");
    this.whole = this.extent();
    this.view = [...this.whole];
    this.rows = [];
    this.pointers = new Map();
    this.listen();
    this.legend();
  }

  extent() {
    const flow = this.data.throughput;
    const ends = this.data.claims.map((claim) => claim[4] ?? claim[3]);
    const starts = this.data.claims.map((claim) => claim[2]);
    const low = starts.reduce((a, b) => Math.min(a, b), flow.from_ms);
    const high = ends.reduce((a, b) => Math.max(a, b), flow.from_ms + flow.step_ms * flow.calls.length);
    return [low, Math.max(high, low + 1)];
  }

  // What is shown.

  show(a, b) {
    const [low, high] = this.whole;
    const span = Math.min(Math.max(b - a, 0.05), high - low);
    const start = Math.min(Math.max(a, low), high - span);
    this.view = [start, start + span];
    this.draw();
  }

  zoom(factor, at = (this.view[0] + this.view[1]) / 2) {
    const [a, b] = this.view;
    this.show(at - (at - a) * factor, at + (b - at) * factor);
  }

  move(ms) {
    this.show(this.view[0] + ms, this.view[1] + ms);
  }

  tell(story) {
    this.story = story;
    const span = Math.max(story.end - story.start, 5);
    this.scroller.scrollTop = 0;
    this.show(story.start - span * 0.15, story.end + span * 0.15);
  }

  layout() {
    const [a, b] = this.view;
    const pinned = new Set(this.story ? this.story.lanes : []);
    const wanted = this.filter.toLowerCase();
    const active = new Map();
    for (const claim of this.data.claims) {
      const [lane, , start, lease, end] = claim;
      if (!pinned.has(lane) && (start > b || (end ?? Math.max(lease, this.whole[1])) < a)) continue;
      if (!pinned.has(lane) && wanted && !this.data.lanes[lane].toLowerCase().includes(wanted)) continue;
      if (!active.has(lane)) active.set(lane, []);
      active.get(lane).push(claim);
    }
    for (const lane of pinned) if (!active.has(lane)) active.set(lane, []);
    const order = [...active.keys()].sort((x, y) => pinned.has(y) - pinned.has(x) || x - y);
    let top = 0;
    this.rows = order.map((lane) => {
      const height = pinned.has(lane) ? PINNED : LANE;
      const row = { lane, top, height, pinned: pinned.has(lane), claims: active.get(lane) };
      top += height;
      return row;
    });
    this.head = AXIS + WORKER * this.data.slots.length + 4;
    this.spacer.style.height = `${this.head + top + 4}px`;
  }

  // Drawing.

  context(canvas) {
    const scale = window.devicePixelRatio || 1;
    const box = canvas.getBoundingClientRect();
    canvas.width = Math.round(box.width * scale);
    canvas.height = Math.round(box.height * scale);
    const context = canvas.getContext("2d");
    context.scale(scale, scale);
    context.font = "11px system-ui, 'DejaVu Sans', sans-serif";
    context.textBaseline = "middle";
    const style = getComputedStyle(document.documentElement);
    this.ink = (name) => style.getPropertyValue(`--${name}`).trim();
    return [context, box.width, box.height];
  }

  x(ms) {
    return this.gutter + ((ms - this.view[0]) / (this.view[1] - this.view[0])) * (this.width - this.gutter);
  }

  ms(x) {
    return this.view[0] + ((x - this.gutter) / (this.width - this.gutter)) * (this.view[1] - this.view[0]);
  }

  draw() {
    if (!this.scroller.clientWidth) return;
    this.layout();
    this.drawOverview();
    const [c, width, height] = this.context(this.canvas);
    this.width = width;
    this.gutter = width < 600 ? 76 : 150;
    c.clearRect(0, 0, width, height);
    this.drawGrid(c, height);
    c.save();
    c.beginPath();
    c.rect(0, this.head, width, height - this.head);
    c.clip();
    for (const row of this.rows) {
      const y = this.head + row.top - this.scroller.scrollTop;
      if (y + row.height >= this.head && y <= height) this.drawRow(c, row, y);
    }
    c.restore();
    this.drawWorkers(c);
    this.drawStory(c, height);
    const [a, b] = this.view;
    this.section.querySelector(".view").textContent =
      `${seconds(a, b - a)} to ${seconds(b, b - a)} · ${this.rows.length} lanes`;
  }

  drawGrid(c, height) {
    const [a, b] = this.view;
    const rough = (b - a) / Math.max(2, (this.width - this.gutter) / 110);
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= rough);
    c.fillStyle = this.ink("quiet");
    c.strokeStyle = this.ink("grid");
    c.textAlign = "center";
    for (let tick = Math.ceil(a / step) * step; tick <= b; tick += step) {
      const x = Math.round(this.x(tick)) + 0.5;
      c.beginPath();
      c.moveTo(x, AXIS - 4);
      c.lineTo(x, height);
      c.stroke();
      if (x > this.gutter + 20 && x < this.width - 20) c.fillText(seconds(tick, step * 5), x, 8);
    }
    c.strokeStyle = this.ink("quiet");
    c.setLineDash([3, 3]);
    for (const [name, at] of Object.entries(this.data.phases)) {
      if (at < a || at > b) continue;
      const x = Math.round(this.x(at)) + 0.5;
      c.beginPath();
      c.moveTo(x, AXIS);
      c.lineTo(x, height);
      c.stroke();
      c.textAlign = "left";
      c.fillText(name, x + 3, height - 8);
    }
    c.setLineDash([]);
  }

  label(c, text, y, strong) {
    c.textAlign = "left";
    c.fillStyle = this.ink(strong ? "ink" : "quiet");
    let shown = text;
    while (shown.length > 3 && c.measureText(shown).width > this.gutter - 8) shown = `${shown.slice(0, -2)}…`;
    c.fillText(shown, 2, y);
  }

  span(c, from, until, y, height) {
    const left = Math.max(this.x(from), this.gutter), right = Math.min(this.x(until), this.width);
    if (right < this.gutter || left > this.width) return null;
    c.fillRect(left, y, Math.max(right - left, 1), height);
    return [left, right];
  }

  drawRow(c, row, y) {
    if (row.pinned) {
      c.fillStyle = this.ink("named");
      c.fillRect(0, y, this.width, row.height - 1);
    }
    for (const claim of row.claims) this.drawClaim(c, claim, y + 2, 11);
    if (row.pinned) this.drawCalls(c, y + 17);
    this.label(c, this.data.lanes[row.lane], y + 8, row.pinned);
  }

  drawClaim(c, claim, y, height) {
    const [, process, start, lease, given, fate] = claim;
    const end = given ?? Math.max(lease, this.whole[1]);
    c.fillStyle = colourOf(this.data.processes[process][1]);
    const live = this.span(c, start, Math.min(end, lease), y, height);
    if (end > lease) {
      c.globalAlpha = 0.25;
      this.span(c, lease, end, y, height);
      c.globalAlpha = 1;
    }
    if (this.data.fates[fate] === "overlapped") {
      c.strokeStyle = this.ink("bad");
      c.lineWidth = 2;
      const left = Math.max(this.x(end), this.gutter), right = Math.min(this.x(lease), this.width);
      if (right > left) c.strokeRect(left, y - 1, right - left, height + 2);
      c.lineWidth = 1;
    }
    if (live && live[1] - live[0] > 90) {
      c.fillStyle = "#fff";
      c.textAlign = "left";
      c.save();
      c.beginPath();
      c.rect(live[0], y, live[1] - live[0] - 2, height);
      c.clip();
      c.fillText(`${this.data.processes[process][0]} · ${this.data.fates[fate]}`, live[0] + 4, y + height / 2 + 0.5);
      c.restore();
    }
  }

  drawCalls(c, y) {
    for (const [at, until, who, , named] of this.story.calls) {
      const left = this.x(at), right = Math.max(this.x(until ?? at), left + 2);
      if (right < this.gutter || left > this.width) continue;
      c.fillStyle = colourOf(this.slot(who));
      c.fillRect(Math.max(left, this.gutter), y, right - Math.max(left, this.gutter), 12);
      if (!named) continue;
      c.strokeStyle = this.ink("bad");
      c.lineWidth = 2;
      c.strokeRect(Math.max(left, this.gutter) - 2, y - 1, right - Math.max(left, this.gutter) + 4, 14);
      c.lineWidth = 1;
    }
  }

  drawWorkers(c) {
    this.data.slots.forEach((name, slot) => {
      const y = AXIS + slot * WORKER;
      this.label(c, name, y + WORKER / 2, true);
      c.fillStyle = colourOf(slot);
      c.fillRect(this.gutter - 8, y + 4, 5, WORKER - 8);
    });
    c.globalAlpha = 0.4;
    for (const [, process, start, lease, end] of this.data.claims) {
      const slot = this.data.processes[process][1];
      c.fillStyle = colourOf(slot);
      this.span(c, start, Math.min(end ?? lease, lease), AXIS + slot * WORKER + 6, WORKER - 12);
    }
    c.globalAlpha = 1;
    for (const mark of this.data.marks) this.drawMark(c, mark);
    c.strokeStyle = this.ink("line");
    c.strokeRect(-1, this.head - 2.5, this.width + 2, 0);
  }

  drawMark(c, [kind, process, at, until]) {
    const slot = process < 0 ? -1 : this.data.processes[process][1];
    const y = slot < 0 ? AXIS - 8 : AXIS + slot * WORKER;
    if (until !== null) {
      c.fillStyle = this.ink("doubt");
      c.globalAlpha = 0.45;
      const drawn = this.span(c, at, until, y + 3, WORKER - 6);
      c.globalAlpha = 1;
      if (drawn && drawn[1] - drawn[0] > 50) {
        c.fillStyle = this.ink("ink");
        c.textAlign = "center";
        c.fillText(kind, (drawn[0] + drawn[1]) / 2, y + WORKER / 2);
      }
      return;
    }
    const x = this.x(at), middle = y + WORKER / 2;
    if (x < this.gutter || x > this.width) return;
    c.strokeStyle = kind === "kill" ? this.ink("bad") : this.ink("doubt");
    c.lineWidth = 2.5;
    c.beginPath();
    c.moveTo(x - 5, middle - 5);
    c.lineTo(x + 5, middle + 5);
    c.moveTo(x + 5, middle - 5);
    c.lineTo(x - 5, middle + 5);
    c.stroke();
    c.lineWidth = 1;
  }

  drawStory(c, height) {
    if (!this.story) return;
    const x = Math.round(this.x(this.story.at)) + 0.5;
    if (x < this.gutter || x > this.width) return;
    c.strokeStyle = this.ink("bad");
    c.beginPath();
    c.moveTo(x, AXIS - 4);
    c.lineTo(x, height);
    c.stroke();
    c.fillStyle = this.ink("bad");
    c.textAlign = x > this.width - 40 ? "right" : "left";
    c.fillText(` ${this.story.id} `, x, height - 8);
  }

  drawOverview() {
    const [c, width, height] = this.context(this.overview);
    const [low, high] = this.whole;
    const at = (ms) => ((ms - low) / (high - low)) * width;
    const flow = this.data.throughput;
    const most = flow.calls.reduce((a, b) => Math.max(a, b), 1);
    const base = height - OVERVIEW_PAD, room = height - 18;
    for (const [name, ink] of [["calls", "quiet"], ["claims", "focus"]]) {
      c.fillStyle = this.ink(ink);
      c.globalAlpha = 0.5;
      flow[name].forEach((value, step) => {
        const left = at(flow.from_ms + step * flow.step_ms);
        const right = at(flow.from_ms + (step + 1) * flow.step_ms);
        c.fillRect(left, base - (value / most) * room, Math.max(right - left - 0.3, 0.7), (value / most) * room);
      });
    }
    c.globalAlpha = 1;
    for (const [kind, , when, until] of this.data.marks) {
      c.fillStyle = this.ink(kind === "kill" ? "bad" : "doubt");
      c.fillRect(at(when), base, Math.max(at(until ?? when) - at(when), 2), OVERVIEW_PAD);
    }
    c.fillStyle = this.ink("bad");
    for (const story of this.data.stories) {
      const x = at(story.at);
      c.beginPath();
      c.moveTo(x - 5, 0);
      c.lineTo(x + 5, 0);
      c.lineTo(x, 8);
      c.fill();
    }
    c.fillStyle = this.ink("quiet");
    c.textAlign = "left";
    c.fillText(`up to ${Math.round(most).toLocaleString("en")} calls a second`, 2, 8);
    c.strokeStyle = this.ink("focus");
    c.lineWidth = 2;
    const left = at(this.view[0]), right = at(this.view[1]);
    c.strokeRect(left + 1, 1, Math.max(right - left - 2, 2), height - 2);
  }

  slot(process) {
    const known = this.data.processes.find(([name]) => name === process);
    return known ? known[1] : Math.max(this.data.slots.indexOf(process), 0);
  }

  // What is under the pointer.

  under(x, y) {
    const at = this.ms(x), near = ((this.view[1] - this.view[0]) / this.width) * 6;
    if (y < this.head) {
      const slot = Math.floor((y - AXIS) / WORKER);
      const mark = this.data.marks.find(([, process, from, until]) =>
        (process < 0 ? -1 : this.data.processes[process][1]) === slot && from - near <= at && at <= (until ?? from) + near);
      return mark ? `${mark[1] < 0 ? "" : this.data.processes[mark[1]][0]} ${mark[4]}\nat ${seconds(mark[2], 1)}` : "";
    }
    const row = this.rows.find(({ top, height }) => {
      const from = this.head + top - this.scroller.scrollTop;
      return y >= from && y < from + height;
    });
    if (!row) return "";
    if (row.pinned && y > this.head + row.top - this.scroller.scrollTop + 15) {
      const call = this.story.calls.find(([from, until]) => from - near <= at && at <= (until ?? from) + near);
      if (call) return `${call[2]} ${call[3]}\nfrom ${seconds(call[0], 1)}${call[1] === null ? "" : `, for ${(call[1] - call[0]).toFixed(2)} ms`}`;
    }
    const claim = row.claims.findLast(([, , start, lease, end]) => start - near <= at && at <= (end ?? Math.max(lease, this.whole[1])) + near);
    if (!claim) return this.data.lanes[row.lane];
    const [, process, start, lease, end, fate, renewals] = claim;
    return [
      `${this.data.lanes[row.lane]}: ${this.data.processes[process][0]}`,
      `claimed at ${seconds(start, 1)}, lease until ${seconds(lease, 1)}${renewals ? `, renewed ${renewals} times` : ""}`,
      end === null ? "not let go of" : `${this.data.fates[fate]} at ${seconds(end, 1)}`,
    ].join("\n");
  }

  point(event) {
    const box = this.canvas.getBoundingClientRect();
    const text = this.under(event.clientX - box.left, event.clientY - box.top);
    this.tip.hidden = !text;
    if (!text) return;
    this.tip.textContent = text;
    const frame = this.section.getBoundingClientRect();
    const left = Math.min(event.clientX - frame.left + 14, frame.width - this.tip.offsetWidth - 8);
    this.tip.style.left = `${Math.max(4, left)}px`;
    this.tip.style.top = `${event.clientY - frame.top + 16}px`;
  }

  // Hands.

  listen() {
    const lanes = this.scroller;
    lanes.addEventListener("scroll", () => this.draw());
    lanes.addEventListener("pointerdown", (event) => {
      this.pointers.set(event.pointerId, event.clientX);
      if (event.offsetX < lanes.clientWidth) lanes.setPointerCapture(event.pointerId);
    });
    for (const name of ["pointerup", "pointercancel"]) {
      lanes.addEventListener(name, (event) => this.pointers.delete(event.pointerId));
    }
    lanes.addEventListener("pointermove", (event) => this.drag(event));
    lanes.addEventListener("pointerleave", () => { this.tip.hidden = true; });
    const wheel = (event, always) => {
      const along = event.shiftKey ? event.deltaY : event.deltaX;
      if (event.ctrlKey || event.metaKey || (always && event.deltaY)) {
        event.preventDefault();
        const box = event.currentTarget.getBoundingClientRect();
        const [low, high] = this.whole;
        const at = always ? low + ((event.clientX - box.left) / box.width) * (high - low) : this.ms(event.clientX - box.left);
        this.zoom(1.0015 ** event.deltaY, always ? undefined : at);
      } else if (along) {
        event.preventDefault();
        this.move((along / this.width) * (this.view[1] - this.view[0]));
      }
    };
    lanes.addEventListener("wheel", (event) => wheel(event, false), { passive: false });
    this.overview.addEventListener("wheel", (event) => wheel(event, true), { passive: false });
    lanes.addEventListener("dblclick", (event) => this.zoom(0.5, this.ms(event.clientX - lanes.getBoundingClientRect().left)));
    lanes.addEventListener("keydown", (event) => this.key(event));
    this.brush();
    this.section.querySelector("input").addEventListener("input", (event) => {
      this.filter = event.target.value;
      this.draw();
    });
    const deeds = { in: () => this.zoom(0.5), out: () => this.zoom(2), all: () => this.show(...this.whole), story: () => this.story && this.tell(this.story) };
    this.section.querySelectorAll("[data-do]").forEach((button) => button.addEventListener("click", deeds[button.dataset.do]));
    new ResizeObserver(() => this.draw()).observe(this.section);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
  }

  key(event) {
    const span = this.view[1] - this.view[0];
    const deeds = { "+": () => this.zoom(0.5), "=": () => this.zoom(0.5), "-": () => this.zoom(2), ArrowLeft: () => this.move(-span / 5), ArrowRight: () => this.move(span / 5), Home: () => this.show(...this.whole) };
    if (!deeds[event.key]) return;
    event.preventDefault();
    deeds[event.key]();
  }

  drag(event) {
    if (!this.pointers.has(event.pointerId)) return this.point(event);
    this.tip.hidden = true;
    const before = [...this.pointers.values()];
    const from = this.pointers.get(event.pointerId);
    this.pointers.set(event.pointerId, event.clientX);
    const perPixel = (this.view[1] - this.view[0]) / (this.width - this.gutter);
    if (this.pointers.size === 1) return this.move((from - event.clientX) * perPixel);
    const after = [...this.pointers.values()];
    const middle = (after[0] + after[1]) / 2 - this.canvas.getBoundingClientRect().left;
    const apart = Math.max(Math.abs(after[0] - after[1]), 8);
    return this.zoom(Math.max(Math.abs(before[0] - before[1]), 8) / apart, this.ms(middle));
  }

  brush() {
    let from = null;
    const at = (event) => {
      const box = this.overview.getBoundingClientRect();
      return this.whole[0] + ((event.clientX - box.left) / box.width) * (this.whole[1] - this.whole[0]);
    };
    this.overview.addEventListener("pointerdown", (event) => {
      from = event.clientX;
      this.began = at(event);
      this.overview.setPointerCapture(event.pointerId);
    });
    this.overview.addEventListener("pointermove", (event) => {
      if (from === null || Math.abs(event.clientX - from) < 4) return;
      this.show(Math.min(this.began, at(event)), Math.max(this.began, at(event)));
    });
    this.overview.addEventListener("pointerup", (event) => {
      const half = (this.view[1] - this.view[0]) / 2;
      if (from !== null && Math.abs(event.clientX - from) < 4) this.show(this.began - half, this.began + half);
      from = null;
    });
  }

  legend() {
    const place = this.section.querySelector(".legend");
    const entries = this.data.slots.map((name, slot) => [name, colourOf(slot), 1]);
    if (entries.length > 8) entries.length = 0;
    entries.push(["pale: the lease is over, nobody has taken it yet", "#888", 0.3]);
    for (const [text, colour, opacity] of entries) {
      const item = document.createElement("span"), box = document.createElement("i");
      box.style.setProperty("--mine", colour);
      box.style.opacity = opacity;
      item.append(box, text);
      place.append(item);
    }
    const hint = document.createElement("span");
    hint.textContent = "✕ killed · drag to move, ctrl + wheel or pinch to zoom, drag above to choose";
    place.append(hint);
  }
}
