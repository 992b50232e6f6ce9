"use strict";
// The lanes: what was measured of one connection, all over one time axis that is zoomed and read together.
// Behind them the colour of what limited the transfer; above them the same with its names, and the events.
page.lanes = (() => {
  const { data, element, make, colour, shade } = page;
  const { si, ticks, hatch, inkOn, firstFrom } = page.marks;
  const { PAPER_WIDTH, prepare, marksOf, rows, columns, axisBelow } = page.canvas;
  const LEFT = 92; // room for the texts of the vertical axes
  const RIGHT = 10;
  const HEIGHTS = { factors: 24, events: 20, throughput: 104, sequence: 150, rtt: 96, flight: 120, spacing: 104, cpu: 84, ena: 70 };
  const ON_PAPER = 0.7; // of that: one connection is two sheets at most
  const EVENT_KINDS = [["outcome", "what became of it"], ["gap", "pauses"], ["retransmission", "retransmissions"], ["timer", "after a timer"]];
  const NEAR = 7; // pixels within which a click means an event

  let plot = null;
  let lanes = [];
  let view = { from: 0, to: 1 };
  let pin = null;
  const hidden = new Set();
  let onPick = () => {}; // an event was clicked
  let onPlace = () => {}; // a place without an event
  let onView = () => {}; // another stretch of time is shown

  // Data ------------------------------------------------------------------------------------------------------------
  function unpack(series) {
    if (series.style === "bins" || series.x) return;
    let ticks = 0;
    series.x = Float64Array.from(series.ticks, (step) => (ticks += step) * series.step_s);
  }

  // Bins as wide as is worth drawing, in whole numbers of the finest ones.
  function binned(series, from, to, width) {
    const wanted = Math.max((to - from) / series.bin_s / (width / 3), 1);
    const power = 10 ** Math.floor(Math.log10(wanted) + 1e-9);
    const joined = Math.round([1, 2, 5, 10].map((one) => one * power).find((one) => one >= wanted * 0.999));
    const bin = series.bin_s * joined;
    const first = Math.max(0, Math.floor(from / bin));
    const last = Math.min(Math.ceil(series.bits.length / joined), Math.ceil(to / bin));
    const [xs, ys] = [[], []];
    for (let index = first; index < last; index++) {
      const end = Math.min((index + 1) * joined, series.bits.length);
      let bits = 0;
      for (let at = index * joined; at < end; at++) bits += series.bits[at];
      xs.push(index * bin);
      ys.push(bits / bin);
    }
    if (last * joined >= series.bits.length) { xs.push(series.bits.length * series.bin_s); ys.push(0); }
    return { xs, ys, bin };
  }

  // The part of a series that is in view, with the value that holds at its beginning.
  function part(series, width) {
    if (series.style === "bins") {
      const { xs, ys, bin } = binned(series, view.from, view.to, width);
      return { xs, ys, from: 0, to: xs.length, bin };
    }
    const from = firstFrom(series.x, view.from);
    const held = series.style === "steps" ? Math.max(from - 1, 0) : from;
    return { xs: series.x, ys: series.y, from: held, to: Math.min(firstFrom(series.x, view.to) + 1, series.x.length) };
  }

  // Drawing ---------------------------------------------------------------------------------------------------------
  function scale(lane, parts) {
    let [low, high, followed] = [Infinity, -Infinity, -Infinity];
    parts.forEach(({ xs, ys, from, to }, index) => {
      const leads = lane.series[index].leads !== false;
      for (let at = from; at < to; at++) {
        const value = ys[at];
        if (value === null || xs[at] > view.to || (lane.log && value <= 0)) continue;
        if (leads) { if (value < low) low = value; if (value > high) high = value; } else if (value > followed) followed = value;
      }
    });
    // A window far above all that was sent must not press it flat: it is shown where it comes near.
    if (high === -Infinity) [low, high] = followed > 0 ? [0, followed] : [0, 1];
    else if (followed > high) high = Math.min(followed, lane.zero ? high * 2.5 : high + (high - low) * 0.25);
    if (lane.log) {
      [low, high] = [10 ** Math.floor(Math.log10(low) + 1e-9), 10 ** Math.ceil(Math.log10(high) - 1e-9)];
      return { low, high: high > low ? high : low * 10 };
    }
    if (lane.zero) low = Math.min(low, 0);
    const room = (high - low || Math.abs(high) || 1) * 0.06;
    high += room;
    return { low: lane.zero && low === 0 ? 0 : low - room, high, above: followed > high ? followed : null };
  }

  function placing(lane, range, width, height) {
    const perSecond = (width - LEFT - RIGHT) / (view.to - view.from);
    const [low, high] = lane.log ? [Math.log10(range.low), Math.log10(range.high)] : [range.low, range.high];
    const per = (height - 8) / (high - low);
    // Far outside a canvas lines lose their exactness: what is out of sight is kept near.
    const keep = (value) => Math.max(-4000, Math.min(4000, value));
    return {
      x: (time) => Math.max(LEFT - 4000, Math.min(width + 4000, LEFT + (time - view.from) * perSecond)),
      y: (value) => keep(height - 4 - ((lane.log ? Math.log10(Math.max(value, 1e-12)) : value) - low) * per),
    };
  }

  // Paper has a width of its own, whatever the window's is.
  const widthOf = () => (page.isPrinting() ? PAPER_WIDTH : Math.max(element("lanes").clientWidth, 320));
  const timeX = (time, width) => LEFT + ((time - view.from) / (view.to - view.from)) * (width - LEFT - RIGHT);

  const boxOf = (width, height) => ({ left: LEFT, right: width - RIGHT, top: 0, bottom: height });
  const clipped = (pen, width, height, draw) => page.canvas.clipped(pen, boxOf(width, height), draw);
  const frame = (pen, width, height) => page.canvas.frame(pen, boxOf(width, height));

  function bandsBehind(pen, width, height) {
    pen.globalAlpha = page.isDark() ? 0.24 : 0.15;
    for (const [from, to, factor] of plot.bands) {
      if (to < view.from || from > view.to) continue;
      const [left, right] = [Math.max(timeX(from, width), LEFT), Math.min(timeX(to, width), width - RIGHT)];
      pen.fillStyle = shade(data.factors[factor].colour);
      pen.fillRect(left, 0, Math.max(right - left, 0.5), height);
    }
    pen.globalAlpha = 1;
    if (pin !== null) {
      pen.strokeStyle = colour("--ink");
      pen.setLineDash([3, 3]);
      pen.beginPath();
      pen.moveTo(timeX(pin, width), 0);
      pen.lineTo(timeX(pin, width), height);
      pen.stroke();
      pen.setLineDash([]);
    }
  }

  function grid(pen, lane, range, place, width, height) {
    rows(pen, boxOf(width, height), marksOf({ ...range, ...lane }, height, lane.log ? 17 : 26), place.y);
    columns(pen, boxOf(width, height), { places: timeMarks(width).places }, (time) => timeX(time, width));
  }

  const timeMarks = (width) => marksOf({ low: view.from, high: view.to, unit: "s" }, width - LEFT, 110);

  function drawLane(lane, width) {
    const height = Math.round((HEIGHTS[lane.key] ?? 90) * (page.isPrinting() ? ON_PAPER : 1));
    const pen = prepare(lane.canvas, width, height);
    const shown = { ...lane, series: lane.series.filter((series) => !hidden.has(series.id)) };
    const parts = shown.series.map((series) => part(series, width));
    const range = scale(shown, parts);
    const place = placing(lane, range, width, height);
    bandsBehind(pen, width, height);
    grid(pen, lane, range, place, width, height);
    lane.note.textContent = ""; // what is hidden is not told of
    clipped(pen, width, height, () => {
      shown.series.forEach((series, index) => {
        const { xs, ys, from, to, bin } = parts[index];
        const look = { ...series, colour: shade(series.colour) };
        // Few points are drawn large, many small.
        const size = series.size * (to - from < 400 ? 1.5 : 1);
        if (series.style === "points") page.marks.points(pen, xs, ys, from, to, place, { ...look, size: to - from > 300 ? series.size * 0.6 : series.size }, size);
        else page.marks.steps(pen, xs, ys, from, to, place, look, width - RIGHT);
        if (bin) lane.note.textContent = `in bins of ${si(bin, "s")}`;
        if (series.leads === false) lane.note.textContent = range.above === null ? "" : `${series.name} reaches ${si(range.above, lane.unit)}, above what is shown`;
      });
    });
    frame(pen, width, height);
    lane.place = place;
    lane.parts = parts;
    lane.shown = shown.series;
  }

  function drawFactors(lane, width) {
    const pen = prepare(lane.canvas, width, HEIGHTS.factors);
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    clipped(pen, width, HEIGHTS.factors, () => {
      for (const [from, to, factor] of plot.bands) {
        if (to < view.from || from > view.to) continue;
        const look = { ...data.factors[factor], colour: shade(data.factors[factor].colour) };
        const [left, right] = [Math.max(timeX(from, width), LEFT), Math.min(timeX(to, width), width - RIGHT)];
        pen.fillStyle = hatch(pen, look.colour, look.hatch);
        pen.fillRect(left, 0, Math.max(right - left, 1), HEIGHTS.factors);
        pen.fillStyle = "#00000060";
        pen.fillRect(left, 0, 0.5, HEIGHTS.factors);
        const needed = pen.measureText(look.name).width;
        if (right - left < needed + 14) continue;
        pen.fillStyle = look.colour;
        pen.fillRect((left + right - needed) / 2 - 4, 4, needed + 8, HEIGHTS.factors - 8);
        pen.fillStyle = inkOn(look.colour);
        pen.fillText(look.name, (left + right) / 2, HEIGHTS.factors / 2 + 0.5);
      }
    });
    frame(pen, width, HEIGHTS.factors);
  }

  function drawEvents(lane, width) {
    const height = HEIGHTS.events * lane.kinds.length;
    const pen = prepare(lane.canvas, width, height);
    bandsBehind(pen, width, height);
    lane.kinds.forEach(([kind, name], row) => {
      const top = row * HEIGHTS.events;
      pen.fillStyle = colour("--faint");
      pen.textAlign = "right";
      pen.textBaseline = "middle";
      pen.fillText(name, LEFT - 6, top + HEIGHTS.events / 2, LEFT - 8);
      clipped(pen, width, height, () => {
        pen.fillStyle = shade(kind === "gap" ? "#555555" : "#D55E00");
        for (const event of plot.events) {
          if (event.kind !== kind) continue;
          const right = timeX(event.time_s, width);
          const left = timeX(event.time_s - (event.length_s ?? 0), width);
          if (right < LEFT - 2 || left > width) continue;
          if (event.length_s === undefined) pen.fillRect(right - 0.75, top + 4, 1.5, HEIGHTS.events - 8);
          else pen.fillRect(left + 0.5, top + 4, Math.max(right - left - 1, 1), HEIGHTS.events - 8); // neighbours stay apart
        }
      });
    });
    frame(pen, width, height);
  }

  function drawAxis(lane, width) {
    const pen = prepare(lane.canvas, width, 34);
    axisBelow(pen, boxOf(width, 0), width, timeMarks(width), (time) => timeX(time, width), "time since the connection's first packet");
  }

  const DRAWERS = { factors: drawFactors, events: drawEvents, axis: drawAxis };

  function draw() {
    if (plot === null) return;
    const width = widthOf();
    for (const lane of lanes) {
      (DRAWERS[lane.key] ?? drawLane)(lane, width);
      lane.node.dataset.from = view.from;
      lane.node.dataset.to = view.to;
    }
    const whole = view.to - view.from >= plot.end_s * 0.999999;
    element("range").textContent = whole ? `all of ${si(plot.end_s, "s")}` : `${si(view.from, "s")} to ${si(view.to, "s")}: ${si(view.to - view.from, "s")} of ${si(plot.end_s, "s")}`;
  }

  let waiting = false;
  function drawSoon() {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; draw(); });
  }

  // View ------------------------------------------------------------------------------------------------------------
  function zoom(from, to) {
    const least = Math.min(plot.end_s, 1e-6);
    const width = Math.min(Math.max(to - from, least), plot.end_s);
    const start = Math.min(Math.max(from, 0), plot.end_s - width);
    view = { from: start, to: start + width };
    onView(width < plot.end_s ? view : null);
    drawSoon();
  }
  function zoomBy(factor, around = (view.from + view.to) / 2) {
    zoom(around - (around - view.from) * factor, around + (view.to - around) * factor);
  }
  const move = (share) => zoom(view.from + (view.to - view.from) * share, view.to + (view.to - view.from) * share);
  const all = () => zoom(0, plot.end_s);

  // Of a series with points left out, the stretch of time of which four are kept.
  function stretch() {
    const left = plot.series.filter((series) => series.of > series.y?.length);
    return Math.max(0, ...left.map((series) => (plot.end_s * 4) / series.y.length));
  }

  function mark(time) {
    pin = time;
    drawSoon();
  }

  // Marks a moment and brings it into view with its surroundings, as far as their points are here.
  function reveal(time, around = 0) {
    mark(time);
    const width = Math.min(Math.max(around, stretch() * 40), plot.end_s);
    const now = view.to - view.from;
    const seen = time >= view.from && time <= view.to && now <= width * 2 && now >= around * 0.8;
    if (!seen) zoom(time - width / 2, time + width / 2);
  }

  // Reading values --------------------------------------------------------------------------------------------------
  function valueAt(series, { xs, ys, from, to }, time) {
    const next = firstFrom(xs, time);
    if (series.style === "points") {
      const near = [next - 1, next].filter((at) => at >= from && at < to);
      const best = near.sort((a, b) => Math.abs(xs[a] - time) - Math.abs(xs[b] - time))[0];
      const apart = ((view.to - view.from) / (widthOf() - LEFT - RIGHT)) * 12;
      return best !== undefined && Math.abs(xs[best] - time) <= apart ? ys[best] : null;
    }
    const at = next < xs.length && xs[next] === time ? next : next - 1;
    return at >= 0 ? ys[at] : null;
  }

  function read(time) {
    for (const lane of lanes) {
      if (!lane.keys) continue;
      lane.shown.forEach((series, index) => {
        const value = time === null ? null : valueAt(series, lane.parts[index], time);
        lane.keys.get(series.id).textContent = value === null ? "" : ` ${si(value, lane.unit)}`;
      });
    }
    const band = time === null ? undefined : plot.bands.find(([from, to]) => time >= from && time < to);
    element("moment").textContent = time === null ? "" : `${time.toFixed(6)} s${band ? `: ${data.factors[band[2]].name}` : ""}`;
  }

  function cursor(time) {
    const width = widthOf();
    for (const { cross } of lanes) {
      cross.hidden = time === null;
      if (time !== null) cross.style.transform = `translateX(${timeX(time, width)}px)`;
    }
    read(time);
  }

  // Pointer and keys ------------------------------------------------------------------------------------------------
  const timeOf = (event) => {
    const box = element("lanes").getBoundingClientRect();
    const share = (event.clientX - box.left - LEFT) / (box.width - LEFT - RIGHT);
    return view.from + Math.min(Math.max(share, 0), 1) * (view.to - view.from);
  };

  // The event that a click means: on its lane the kind under the pointer, elsewhere those that the lane shows.
  function eventNear(lane, pointer, time) {
    const box = lane.canvas.getBoundingClientRect();
    const near = ((view.to - view.from) / (box.width - LEFT - RIGHT)) * NEAR;
    const row = Math.floor(((pointer.clientY - box.top) / box.height) * (lane.kinds?.length ?? 1));
    const ofLane = { sequence: ["retransmission", "timer"], spacing: ["gap"] }[lane.key];
    const kinds = lane.kinds ? [lane.kinds[row]?.[0]] : ofLane ?? EVENT_KINDS.map(([kind]) => kind);
    const away = (event) => Math.max(0, event.time_s - (lane.kinds ? event.length_s ?? 0 : 0) - time, time - event.time_s);
    let best = null;
    for (const event of plot.events) {
      if (kinds.includes(event.kind) && away(event) <= near && (best === null || away(event) < away(best))) best = event;
    }
    return best;
  }

  const told = (event) => (event === null ? "" :
    `${event.label}${event.length_s === undefined ? "" : ` of ${si(event.length_s, "s")}`}, frame ${event.frames[event.frames.length - 1].toLocaleString("en")}: ${event.cause}`);

  function listen(lane) {
    const { holder, selection } = lane;
    let start = null;
    holder.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      start = { x: event.clientX, time: timeOf(event), view, pans: event.shiftKey, taps: event.pointerType === "touch" };
      holder.setPointerCapture(event.pointerId);
    });
    holder.addEventListener("pointermove", (event) => {
      const time = timeOf(event);
      cursor(time);
      if (lane.kinds) lane.note.textContent = told(eventNear(lane, event, time));
      if (start === null || start.taps) return;
      if (start.pans) {
        const box = element("lanes").getBoundingClientRect();
        const by = ((event.clientX - start.x) / (box.width - LEFT - RIGHT)) * (start.view.to - start.view.from);
        zoom(start.view.from - by, start.view.to - by);
        return;
      }
      const width = widthOf();
      const [left, right] = [timeX(start.time, width), timeX(time, width)].sort((a, b) => a - b);
      for (const one of lanes) {
        one.selection.hidden = right - left < 4;
        one.selection.style.left = `${left}px`;
        one.selection.style.width = `${right - left}px`;
      }
    });
    const finish = (event) => {
      if (start === null) return;
      const [began, time] = [start, timeOf(event)];
      start = null;
      for (const one of lanes) one.selection.hidden = true;
      if (began.pans || event.type === "pointercancel") return;
      if (Math.abs(event.clientX - began.x) >= 4 && !began.taps) zoom(Math.min(began.time, time), Math.max(began.time, time));
      else {
        const found = eventNear(lane, event, time);
        if (found !== null) onPick(found);
        else onPlace(time, ((view.to - view.from) / (widthOf() - LEFT - RIGHT)) * NEAR);
      }
    };
    holder.addEventListener("pointerup", finish);
    holder.addEventListener("pointercancel", finish);
    holder.addEventListener("pointerleave", () => {
      if (start === null) cursor(null);
      if (lane.kinds) lane.note.textContent = "";
    });
    holder.addEventListener("dblclick", all);
    holder.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.metaKey) return; // a page that is scrolled must not zoom
      event.preventDefault();
      zoomBy(event.deltaY > 0 ? 1.25 : 0.8, timeOf(event));
    }, { passive: false });
    selection.hidden = true;
  }

  const KEYS = {
    "+": () => zoomBy(0.5), "=": () => zoomBy(0.5), "-": () => zoomBy(2), 0: all, Home: all,
    ArrowLeft: () => move(-0.25), ArrowRight: () => move(0.25),
  };
  element("lanes").addEventListener("keydown", (event) => {
    const act = KEYS[event.key];
    if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    act();
  });
  for (const [id, act] of [["zoom-in", () => zoomBy(0.5)], ["zoom-out", () => zoomBy(2)], ["earlier", () => move(-0.5)], ["later", () => move(0.5)], ["whole", all]]) {
    element(id).addEventListener("click", act);
  }

  // Building --------------------------------------------------------------------------------------------------------
  function laneNode(lane) {
    const node = make("div", undefined, "lane");
    node.dataset.lane = lane.key;
    const header = make("div", undefined, "lane-head");
    const holder = make("div", undefined, "holder");
    const canvas = make("canvas");
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", `${lane.title ?? lane.key} over time`);
    const [cross, selection] = [make("i", undefined, "cursor-line"), make("i", undefined, "selection")];
    cross.hidden = true;
    holder.title = "drag to zoom, double-click for all, Shift and drag to move";
    holder.append(canvas, selection, cross);
    if (lane.title) header.append(make("b", lane.title));
    if (lane.title) node.append(header);
    node.append(holder);
    return { ...lane, node, header, holder, canvas, cross, selection, note: make("span", undefined, "note") };
  }

  // What a lane shows, point by point.
  function shownPoints(lane) {
    return lane.shown.flatMap((series, index) => {
      const { xs, ys, from, to } = lane.parts[index];
      return Array.from({ length: to - from }, (_, at) => [series.name, xs[from + at], ys[from + at]]);
    });
  }

  // A name switches its series off and on, and shows the value under the pointer.
  function keysOf(lane) {
    lane.keys = new Map();
    for (const series of lane.series) {
      const button = make("button", undefined, "key");
      button.type = "button";
      const swatch = make("i", undefined, series.style === "points" ? `swatch ${series.symbol}` : `swatch line${series.dashed ? ` dashed-${Number(series.dashed)}` : ""}`);
      const value = make("span", undefined, "value");
      button.append(swatch, series.name, value);
      button.setAttribute("aria-pressed", String(!hidden.has(series.id)));
      button.addEventListener("click", () => {
        if (!hidden.delete(series.id)) hidden.add(series.id);
        button.setAttribute("aria-pressed", String(!hidden.has(series.id)));
        value.textContent = "";
        draw();
      });
      swatch.dataset.colour = series.colour;
      lane.keys.set(series.id, value);
      lane.header.append(button);
    }
    const head = ["series", "time_s", lane.unit ? `value_${lane.unit.replace("bit/s", "bps")}` : "value"];
    lane.header.append(lane.note, page.save.buttons(`connection-${plot.id}-${lane.key}`, lane.node, head, () => shownPoints(lane)));
  }

  function tint() {
    for (const swatch of element("lanes").querySelectorAll("[data-colour]")) swatch.style.setProperty("--swatch", shade(swatch.dataset.colour));
  }

  function legend() {
    element("factors").replaceChildren(...plot.legend.map(({ factor, text, banded }) => {
      const item = make("li", undefined, banded ? "" : "without-band");
      const swatch = make("canvas", undefined, "factor");
      swatch.width = 44;
      swatch.height = 28;
      const pen = swatch.getContext("2d");
      pen.scale(2, 2);
      pen.fillStyle = hatch(pen, shade(data.factors[factor].colour), data.factors[factor].hatch);
      pen.fillRect(0, 0, 22, 14);
      item.append(swatch, make("b", data.factors[factor].name), ` ${text}`);
      return item;
    }));
  }

  function show(chosen) {
    plot = chosen;
    pin = null;
    hidden.clear();
    plot.series.forEach((series, index) => { unpack(series); series.id = index; });
    const kinds = EVENT_KINDS.filter(([kind]) => plot.events.some((event) => event.kind === kind));
    const described = [
      ...(plot.bands.length ? [{ key: "factors", title: "limiting factor" }] : []),
      ...(kinds.length ? [{ key: "events", title: "events", kinds }] : []),
      ...plot.lanes.map((lane) => ({ ...lane, series: plot.series.filter((series) => series.lane === lane.key) })).filter((lane) => lane.series.length),
      { key: "axis" },
    ];
    lanes = described.map(laneNode);
    for (const lane of lanes) {
      if (lane.series) keysOf(lane);
      if (lane.kinds) lane.header.append(lane.note);
      listen(lane);
    }
    element("lanes").replaceChildren(...lanes.map(({ node }) => node));
    legend();
    tint();
    view = { from: 0, to: plot.end_s };
    draw();
  }

  new ResizeObserver(drawSoon).observe(element("lanes"));
  page.onTheme(() => { if (plot !== null) { legend(); tint(); draw(); } });
  return { show, zoom, mark, reveal, view: () => view, xOf: (time) => timeX(time, widthOf()), onPick: (act) => { onPick = act; }, onPlace: (act) => { onPlace = act; }, onView: (act) => { onView = act; } };
})();
