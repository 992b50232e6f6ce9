"use strict";
// Events one by one, and the packets around the one that was picked.
page.packets = (() => {
  const { element, make, filterNode } = page;
  const { si, firstFrom } = page.marks;
  const SHOWN_AROUND = 7;
  const EVENTS_SHOWN = 300;
  const FLAGS = [[1, "FIN"], [2, "SYN"], [4, "RST"], [8, "PSH"], [16, "ACK"], [32, "URG"], [64, "ECE"], [128, "CWR"]];

  let plot = null;
  let rows = new Map();
  let current = null;

  const flagText = (flags) => FLAGS.filter(([bit]) => flags & bit).map(([, name]) => name).join(" ");
  const count = (value) => (value === null ? "-" : value.toLocaleString("en"));
  const percent = (part) => `${(part * 100).toFixed(1)} %`;
  const causeOf = (event) => event.cause + (event.confidence === undefined ? "" : ` (confidence ${percent(event.confidence)})`);

  // Packets ---------------------------------------------------------------------------------------------------------
  function tableAround(row) {
    const packets = plot.packets;
    const first = firstFrom(packets.row, row - SHOWN_AROUND);
    const last = firstFrom(packets.row, row + SHOWN_AROUND + 1);
    const table = make("table", undefined, "packets");
    const head = make("tr");
    const titles = [["frame"], ["time"], ["since the one before"], ["direction", "left"], ["what", "left"], ["flags", "left"], ["seq"], ["len"], ["ack"], ["window"], ["in flight"]];
    if (packets.file) titles.push(["file", "left"]);
    for (const [title, side] of titles) head.append(make("th", title, side));
    table.createTHead().append(head);
    const body = table.createTBody();
    const frames = new Map(); // by file: each counts its own
    for (let at = first; at < last; at++) {
      const before = at > 0 && packets.row[at - 1] === packets.row[at] - 1 ? si(packets.time_s[at] - packets.time_s[at - 1], "s") : "-";
      const cells = [
        [count(packets.frame[at])], [`${packets.time_s[at].toFixed(6)} s`], [before], [packets.forth[at] ? "sender →" : "← receiver", "left"],
        [packets.what[at], "left"], [flagText(packets.flags[at]), "left"], [count(packets.sequence[at])], [count(packets.payload_bytes[at])],
        [packets.flags[at] & 16 ? count(packets.acknowledgement[at]) : "-"], [count(packets.window_bytes[at])], [count(packets.flight_bytes[at])],
      ];
      if (packets.file) cells.push([packets.file[at], "left"]);
      const line = make("tr", undefined, packets.row[at] === row ? "current" : "");
      for (const [text, side] of cells) line.append(make("td", text, side));
      body.append(line);
      const file = packets.file ? packets.file[at] : "";
      frames.set(file, [...(frames.get(file) ?? []), packets.frame[at]]);
    }
    page.tables.label([...body.rows], titles.map(([title]) => title));
    return { table, frames, length: last > first ? packets.time_s[last - 1] - packets.time_s[first] : 0 };
  }

  // A display filter for the frames of each file.
  function filters(frames) {
    return [...frames].map(([file, numbers]) => {
      const said = make("p", `Display filter for these packets${file ? ` in ${file}` : ""}: `);
      said.append(filterNode(`frame.number in {${numbers.join(", ")}}`));
      return said;
    });
  }

  // Shows the packets around a row, if they are in this file; returns how long they took.
  function show(title, texts, row, frames) {
    const inTable = row !== null && plot.packets.row[firstFrom(plot.packets.row, row)] === row;
    const found = inTable ? tableAround(row) : null;
    element("packets-title").textContent = title;
    const told = texts.filter(Boolean).join(" ");
    const parts = told ? [make("p", told)] : [];
    parts.push(...filters(found?.frames ?? new Map([["", frames]])));
    if (found) {
      const scroll = make("div", undefined, "scroll");
      scroll.append(found.table);
      parts.push(scroll);
    } else {
      parts.push(make("p", "These packets are not in this file: look them up in the capture by the filter.", "hint"));
    }
    element("packets-body").replaceChildren(...parts);
    element("packets").hidden = false;
    const panel = element("packets");
    const marked = panel.querySelector("tr.current");
    panel.scrollTop = 0;
    if (marked) panel.scrollTop = marked.getBoundingClientRect().bottom - panel.getBoundingClientRect().top - panel.clientHeight * 0.95;
    return found?.length ?? 0;
  }

  // Events ----------------------------------------------------------------------------------------------------------
  function pick(event) {
    current = plot.events.indexOf(event);
    const first = event.first_frame === undefined ? (event.kind === "gap" ? "" : "Its bytes were not seen before in this capture.") :
      `First sent in frame ${count(event.first_frame)}, ${si(event.waited_s, "s")} before.`;
    const length = event.length_s === undefined ? "" : ` of ${si(event.length_s, "s")}`;
    const shown = show(
      `${event.label}${length} at ${event.time_s.toFixed(6)} s, ${event.frames.length > 1 ? "frames" : "frame"} ${event.frames.map(count).join(" to ")}`,
      [`Cause: ${causeOf(event)}.`, first], event.row, event.frames,
    );
    page.lanes.mark(event.time_s);
    for (const [one, node] of rows) node.classList.toggle("current", one === event);
    const list = element("events-list");
    const chosen = rows.get(event);
    if (chosen) list.scrollTop = Math.max(0, chosen.offsetTop - list.clientHeight / 2);
    return Math.max((event.length_s ?? 0) * 4, (event.waited_s ?? 0) * 4, shown * 3);
  }

  // From a list the lanes go to the event; who clicked in the lanes sees it already.
  function goTo(event) {
    page.lanes.reveal(event.time_s, pick(event));
  }

  function step(by) {
    if (!plot.events.length) return;
    const next = current === null ? (by > 0 ? 0 : plot.events.length - 1) : current + by;
    if (next >= 0 && next < plot.events.length) goTo(plot.events[next]);
  }

  function showFrame(number, row, time) {
    current = null;
    for (const node of rows.values()) node.classList.remove("current");
    return show(`frame ${count(number)}${time === null ? "" : ` at ${time.toFixed(6)} s`}`, [], row, [number]);
  }

  function frame({ frame: number, row, time_s: time }) {
    const shown = showFrame(number, row, time);
    if (time !== null) page.lanes.reveal(time, shown * 3);
  }

  // The packet of the table that is nearest to a moment, if one is as near as that.
  function near(time, away) {
    const packets = plot.packets;
    // They stand in the order in which they passed, which need not be that of their times.
    let best = -1;
    let least = away;
    packets.time_s.forEach((at_s, at) => {
      const apart = Math.abs(at_s - time);
      if (apart < least || (apart === least && best < 0)) [best, least] = [at, apart];
    });
    if (best < 0) return;
    showFrame(packets.frame[best], packets.row[best], packets.time_s[best]);
    page.lanes.mark(packets.time_s[best]);
  }

  function eventRow(event) {
    const node = make("tr");
    node.tabIndex = 0;
    const cells = [[event.time_s, `${event.time_s.toFixed(6)} s`], [null, event.label, "left"], [null, event.cause, "left"],
      [event.confidence ?? "", event.confidence === undefined ? "-" : percent(event.confidence)],
      [event.length_s ?? event.waited_s ?? "", si(event.length_s ?? event.waited_s ?? null, "s")], [event.frames[0], event.frames.map(count).join(" to ")]];
    for (const [key, text, side] of cells) {
      const cell = make("td", text, side);
      if (key !== null) cell.dataset.key = key;
      node.append(cell);
    }
    node.addEventListener("click", () => goTo(event));
    node.addEventListener("keydown", (pressed) => { if (pressed.key === "Enter") goTo(event); });
    rows.set(event, node);
    return node;
  }

  // The longest pauses and what came after timers first: a list is read from its top.
  function weight(event) {
    return event.kind === "gap" ? event.length_s : (event.kind === "timer" ? 1e-3 : 0) + Math.min(event.waited_s ?? 0, 1e6) * 1e-6;
  }

  function list(chosen) {
    plot = chosen;
    current = null;
    rows = new Map();
    element("packets").hidden = true;
    element("events-part").hidden = !plot.events.length;
    for (const id of ["event-before", "event-after"]) element(id).disabled = !plot.events.length;
    const shown = [...plot.events].sort((a, b) => weight(b) - weight(a)).slice(0, EVENTS_SHOWN).sort((a, b) => a.time_s - b.time_s);
    element("events-count").textContent = shown.length < plot.events.length ? `${shown.length} of ${count(plot.events.length)}; all are marked in the lanes` : count(plot.events.length);
    element("events-list").classList.toggle("long", shown.length > 6); // what paper has room for: see the style
    const nodes = shown.map(eventRow);
    element("events").tBodies[0].replaceChildren(...nodes);
    page.tables.label(nodes, head.map((cell) => cell.textContent));
  }

  const head = [...element("events").tHead.rows[0].cells];
  page.tables.head(head, (index) => head[index].classList.contains("left"), (index, falling) => {
    const key = (node) => { const cell = node.cells[index]; return cell.dataset.key === undefined || cell.dataset.key === "" ? cell.textContent : Number(cell.dataset.key); };
    const body = element("events").tBodies[0];
    body.replaceChildren(...[...body.rows].sort((a, b) => page.tables.compare(key(a), key(b), falling)));
  });
  element("event-before").addEventListener("click", () => step(-1));
  element("event-after").addEventListener("click", () => step(1));
  element("packets-close").addEventListener("click", () => { element("packets").hidden = true; });
  page.lanes.onPick(pick);
  page.lanes.onPlace(near);
  return { list, frame };
})();
