"use strict";
// The timeline: a picture that answers to mouse, fingers and keys.

class Timeline extends Picture {
  constructor(section, data) {
    super(section, data);
    this.pointers = new Map();
    this.listen();
    this.legend();
  }

  // What is under the pointer.

  under(x, y) {
    const at = this.ms(x), near = ((this.view[1] - this.view[0]) / this.width) * 6;
    if (y < this.head) {
      const slot = Math.floor((y - AXIS) / this.worker);
      const mark = this.data.marks.find(([, process, from, until]) =>
        this.data.processes[process][1] === slot && from - near <= at && at <= (until ?? from) + near);
      return mark ? `${this.data.processes[mark[1]][0]}: ${mark[4]}\nat ${seconds(mark[2], 1)}` : "";
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
    const early = this.data.fates.indexOf("taken early");
    if (this.data.claims.some((claim) => claim[5] === early)) {
      const why = this.data.overlap ? "" : ", which clocks that are off allow";
      entries.push([`framed: somebody else had it before this lease was over${why}`, `var(--${this.data.overlap ? "bad" : "doubt"})`, 1]);
    }
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
