"use strict";
(() => {
  const main = document.querySelector("main");
  const svg = main.querySelector("svg");
  const nodes = JSON.parse(document.getElementById("data").textContent);
  const details = document.getElementById("details");
  const whole = svg.viewBox.baseVal;
  const all = { x: whole.x, y: whole.y, width: whole.width, height: whole.height };
  svg.removeAttribute("width");
  svg.removeAttribute("height");
  let view = { ...all };

  const show = () => svg.setAttribute("viewBox", `${view.x} ${view.y} ${view.width} ${view.height}`);
  const scale = () => Math.max(view.width / main.clientWidth, view.height / main.clientHeight);
  // A larger picture would be too small to read as a whole: at first its beginning is shown.
  const smallest = 0.6;
  const begin = () => {
    const [width, height] = [main.clientWidth / smallest, main.clientHeight / smallest];
    if (all.width <= width && all.height <= height) {
      fit();
      return;
    }
    view = { x: all.x, y: all.y, width, height };
    show();
  };
  const fit = () => {
    view = { ...all };
    // A picture that is smaller than the window is shown in its own size.
    const [width, height] = [main.clientWidth, main.clientHeight];
    if (view.width < width && view.height < height) {
      view = { x: view.x - (width - view.width) / 2, y: view.y - (height - view.height) / 2, width, height };
    }
    show();
  };
  const at = (event) => {
    const point = new DOMPoint(event.clientX, event.clientY);
    return point.matrixTransform(svg.getScreenCTM().inverse());
  };

  main.addEventListener("wheel", (event) => {
    event.preventDefault();
    const factor = Math.exp(Math.min(Math.max(event.deltaY, -200), 200) * 0.002);
    const wanted = Math.min(Math.max(view.width * factor, 50), all.width * 20);
    const real = wanted / view.width;
    const point = at(event);
    view.x = point.x - (point.x - view.x) * real;
    view.y = point.y - (point.y - view.y) * real;
    view.width *= real;
    view.height *= real;
    show();
  }, { passive: false });

  let from = null;
  let moved = false;
  main.addEventListener("pointerdown", (event) => {
    from = { x: event.clientX, y: event.clientY, view: { ...view } };
    moved = false;
  });
  window.addEventListener("pointermove", (event) => {
    if (!from) return;
    const [x, y] = [event.clientX - from.x, event.clientY - from.y];
    moved = moved || Math.abs(x) + Math.abs(y) > 4;
    if (!moved) return;
    main.classList.add("moving");
    view.x = from.view.x - x * scale();
    view.y = from.view.y - y * scale();
    show();
  });
  window.addEventListener("pointerup", () => {
    from = null;
    main.classList.remove("moving");
  });

  const clear = () => {
    for (const node of svg.querySelectorAll(".chosen")) node.classList.remove("chosen");
    for (const edge of svg.querySelectorAll(".near")) edge.classList.remove("near");
    details.hidden = true;
  };
  svg.addEventListener("click", (event) => {
    const node = event.target.closest("[data-node]");
    if (moved) return;
    clear();
    if (!node) return;
    const number = node.dataset.node;
    const [label, entries] = nodes[Number(number)];
    node.classList.add("chosen");
    for (const edge of svg.querySelectorAll(`[data-from="${number}"],[data-to="${number}"]`)) {
      edge.classList.add("near");
    }
    details.querySelector("h2").textContent = label;
    const list = details.querySelector("dl");
    list.replaceChildren();
    for (const [name, value] of entries) {
      const term = document.createElement("dt");
      term.textContent = name;
      const text = document.createElement("dd");
      text.textContent = value;
      list.append(term, text);
    }
    details.hidden = false;
  });
  document.getElementById("close").addEventListener("click", clear);
  document.getElementById("fit").addEventListener("click", fit);
  begin();
})();
