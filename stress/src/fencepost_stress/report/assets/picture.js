"use strict";
// The picture of one run: calls a second, the workers with their faults, and a lane a run or key.
// A claim is [lane, process, start, lease end, end or null, fate, renewals], times in ms.

const OVERVIEW_PAD = 4, AXIS = 20, WORKER = 18, WORKERS = 190, LANE = 16, PINNED = 36;
const PALETTE = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b8860b", "#56b4e9", "#7b61c4", "#8c6d4f"];

function colourOf(slot) {
  return slot < PALETTE.length ? PALETTE[slot] : `hsl(${(slot * 137.5) % 360} 55% 50%)`;
}

function seconds(ms, span) {
  const digits = Math.max(0, Math.min(5, 3 - Math.floor(Math.log10(Math.max(span, 1e-3) / 5))));
  return `${(ms / 1000).toFixed(digits).replace(/^-(0(\.0*)?)$/, "$1")} s`;
}

class Picture {
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
    // Many workers share the room of a few, without their names.
    this.worker = Math.max(1, Math.min(WORKER, Math.floor(WORKERS / Math.max(data.slots.length, 1))));
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
    const early = this.data.fates.indexOf("taken early");
    const rank = (lane) => 2 * pinned.has(lane) + active.get(lane).some((claim) => claim[5] === early);
    const order = [...active.keys()].sort((x, y) => rank(y) - rank(x) || x - y);
    let top = 0;
    this.rows = order.map((lane) => {
      const height = pinned.has(lane) ? PINNED : LANE;
      const row = { lane, top, height, pinned: pinned.has(lane), claims: active.get(lane) };
      top += height;
      return row;
    });
    this.head = AXIS + this.worker * this.data.slots.length + 4;
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
    if (this.data.fates[fate] === "taken early") {
      c.strokeStyle = this.ink(this.data.overlap ? "bad" : "doubt");
      c.lineWidth = this.data.overlap ? 2 : 1;
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
      const y = AXIS + slot * this.worker;
      if (this.worker > 10) this.label(c, name, y + this.worker / 2, true);
      c.fillStyle = colourOf(slot);
      c.fillRect(this.gutter - 8, y + this.worker / 5, 5, this.worker * 0.6);
    });
    c.globalAlpha = 0.4;
    for (const [, process, start, lease, end] of this.data.claims) {
      const slot = this.data.processes[process][1];
      c.fillStyle = colourOf(slot);
      this.span(c, start, Math.min(end ?? lease, lease), AXIS + slot * this.worker + this.worker / 3, this.worker / 3);
    }
    c.globalAlpha = 1;
    for (const mark of this.data.marks) this.drawMark(c, mark);
    c.strokeStyle = this.ink("line");
    c.strokeRect(-1, this.head - 2.5, this.width + 2, 0);
  }

  drawMark(c, [kind, process, at, until]) {
    const y = AXIS + this.data.processes[process][1] * this.worker;
    if (until !== null) {
      c.fillStyle = this.ink("doubt");
      c.globalAlpha = 0.45;
      const drawn = this.span(c, at, until, y + this.worker / 6, this.worker * 0.66);
      c.globalAlpha = 1;
      if (drawn && drawn[1] - drawn[0] > 50 && this.worker > 10) {
        c.fillStyle = this.ink("ink");
        c.textAlign = "center";
        c.fillText(kind, (drawn[0] + drawn[1]) / 2, y + this.worker / 2);
      }
      return;
    }
    const x = this.x(at), middle = y + this.worker / 2, arm = Math.min(5, this.worker / 2);
    if (x < this.gutter || x > this.width) return;
    c.strokeStyle = kind === "kill" ? this.ink("bad") : this.ink("doubt");
    c.lineWidth = 2.5;
    c.beginPath();
    c.moveTo(x - arm, middle - arm);
    c.lineTo(x + arm, middle + arm);
    c.moveTo(x + arm, middle - arm);
    c.lineTo(x - arm, middle + arm);
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
}
