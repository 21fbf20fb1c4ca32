"use strict";
// Ties the parts of the page together: tabs, violations and their timelines, copy buttons.

(() => {
  const runs = JSON.parse(document.getElementById("data").textContent);

  function open(main) {
    document.querySelectorAll("main.run").forEach((other) => { other.hidden = other !== main; });
    document.querySelectorAll(".tabs [role=tab]").forEach((tab) => {
      tab.setAttribute("aria-selected", String(tab.getAttribute("aria-controls") === main.id));
    });
    const section = main.querySelector(".timeline");
    const data = runs[Number(section.dataset.run)];
    if (section.timeline) return section.timeline.draw();
    section.timeline = new Timeline(section, data);
    main.querySelectorAll("[data-who]").forEach((cell) => {
      const known = section.timeline.slot(cell.dataset.who);
      cell.style.setProperty("--mine", colourOf(known));
    });
    if (data.stories.length) pick(main, 0);
    return section.timeline.draw();
  }

  function pick(main, number) {
    const stories = [...main.querySelectorAll(".story")];
    const chosen = (number + stories.length) % stories.length;
    stories.forEach((story, index) => { story.hidden = index !== chosen; });
    main.querySelector(".picker select").value = String(chosen);
    const { timeline } = main.querySelector(".timeline");
    timeline.tell(timeline.data.stories[chosen]);
  }

  async function copy(button) {
    const code = button.parentElement.querySelector("code");
    try {
      await navigator.clipboard.writeText(code.textContent);
      button.textContent = "copied";
    } catch {
      // A page from file:// may not write to the clipboard: select it instead.
      getSelection().selectAllChildren(code);
      button.textContent = "selected";
    }
  }

  document.querySelectorAll(".tabs [role=tab]").forEach((tab) => {
    tab.addEventListener("click", () => open(document.getElementById(tab.getAttribute("aria-controls"))));
  });
  document.querySelectorAll("main.run").forEach((main) => {
    const select = main.querySelector(".picker select");
    if (!select) return;
    select.addEventListener("change", () => pick(main, Number(select.value)));
    main.querySelector(".previous").addEventListener("click", () => pick(main, Number(select.value) - 1));
    main.querySelector(".next").addEventListener("click", () => pick(main, Number(select.value) + 1));
  });
  document.querySelectorAll("button.copy").forEach((button) => button.addEventListener("click", () => copy(button)));
  open(document.querySelector("main.run:not([hidden])"));
})();
