"use strict";
// When all connections of the table were: a line each, in the colour of what limited it; a click chooses one.
page.overview = (() => {
  const { data, element, shade } = page;
  const { marksOf, prepare, frame, columns, axisBelow, PAPER_WIDTH } = page.canvas;
  const { si } = page.marks;
  const [LEFT, RIGHT, BELOW] = [8, 8, 36];
  let onPick = () => {};

  function start() {
    const { start_s: starts, duration_s: durations, cause: causes, colours, names } = data.timeline;
    const canvas = element("timeline").querySelector("canvas");
    // From top to bottom as they began: what began together stands together.
    const order = starts.map((_, row) => row).sort((a, b) => starts[a] - starts[b]);
    const placeOf = new Map(order.map((row, place) => [row, place]));
    const end = Math.max(...starts.map((from, row) => from + durations[row]), 1e-6);
    const height = Math.max(36, Math.min(150, order.length * 5));
    const step = height / order.length;
    let box = null;
    const x = (time) => box.left + (time / end) * (box.right - box.left);

    function draw() {
      const width = page.isPrinting() ? PAPER_WIDTH : element("timeline").clientWidth;
      const pen = prepare(canvas, width, height + BELOW);
      box = { left: LEFT, right: width - RIGHT, top: 0, bottom: height };
      const marks = marksOf({ low: 0, high: end, unit: "s" }, box.right - box.left, 90);
      columns(pen, box, marks, x);
      for (const row of order) {
        pen.fillStyle = shade(colours[causes[row]]);
        pen.fillRect(x(starts[row]), placeOf.get(row) * step, Math.max((durations[row] / end) * (box.right - box.left), 1.5), Math.max(Math.min(step - (step > 3 ? 1 : 0), 12), 1));
      }
      frame(pen, box);
      axisBelow(pen, box, width, marks, x, "time since the first connection's start");
    }

    const rowAt = (event) => {
      const bounds = canvas.getBoundingClientRect();
      const place = Math.floor((event.clientY - bounds.top) / step);
      return order[Math.max(0, Math.min(place, order.length - 1))];
    };
    canvas.style.cursor = "pointer";
    canvas.addEventListener("pointermove", (event) => {
      const row = rowAt(event);
      const { id, ends } = data.rows[row];
      element("timeline-reading").textContent = `${id}: ${ends}, ${names[causes[row]]}, ${si(starts[row], "s")} + ${si(durations[row], "s")}`;
    });
    canvas.addEventListener("pointerleave", () => { element("timeline-reading").textContent = ""; });
    canvas.addEventListener("click", (event) => onPick(data.rows[rowAt(event)]));
    element("timeline").hidden = false;
    draw();
    new ResizeObserver(() => { if (!page.isPrinting()) draw(); }).observe(element("timeline"));
    page.onTheme(draw);
  }

  if (data.timeline && element("timeline")) start();
  return { onPick: (act) => { onPick = act; } };
})();
