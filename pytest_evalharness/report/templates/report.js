
"use strict";
(() => {
  const { comparisons, words } = JSON.parse(document.getElementById("data").textContent);
  const NAMED = new Set(["arm", "outcome", "status", "cause", "request"]);
  const NUMBERS = new Set(["number", "score", "kills", "seed"]);
  const TITLES = { number: "#", seats: "seats", id: "episode", links: "files" };
  const NARROW = matchMedia("(max-width: 40rem)");

  const make = (tag, properties = {}, ...children) => {
    const node = Object.assign(document.createElement(tag), properties);
    node.append(...children);
    return node;
  };

  const scrolled = (label, child) => {
    const region = make("div", { className: "scroll", tabIndex: 0 }, child);
    region.setAttribute("role", "region");
    region.setAttribute("aria-label", label);
    return region;
  };

  // ------------------------------------------------------------------ rows

  const decoded = (table) => table.rows.map((values) => {
    const row = {};
    table.columns.forEach((column, i) => {
      row[column] = NAMED.has(column) ? words[values[i]] : values[i];
    });
    row.wrong = Array.isArray(row.seats) ? row.seats : [];
    row.empty = row.seats === -1;
    row.seats = row.empty ? "never seated"
      : row.wrong.length ? row.wrong.map(([seat, who]) => `${seat}: ${words[who]}`).join(", ") : "as placed";
    row.missing = Boolean(row.cause);
    row.text = table.columns.filter((column) => column !== "links").map((column) => row[column] ?? "").join(" ").toLowerCase();
    return row;
  });

  const cell = (column, row) => {
    const value = row[column];
    const node = make("td", { className: column });
    if (NUMBERS.has(column)) node.classList.add("number");
    if (column === "id" || column === "request") node.classList.add("code");
    if (column === "links") {
      value.forEach(([word, target], i) => {
        if (i) node.append(" ");
        node.append(make("a", { href: target, rel: "noopener noreferrer", textContent: word }));
      });
    } else if (column === "seats" && row.wrong.length) {
      node.append(make("span", { textContent: `✕ ${row.wrong.length} wrong`, title: value }));
    } else {
      node.textContent = value ?? "";
    }
    return node;
  };

  const compared = (column, falling) => (a, b) => {
    const [x, y] = [a[column], b[column]];
    if (x === null || y === null) return (x === null) - (y === null);
    const order = typeof x === "number" ? x - y : String(x).localeCompare(String(y), undefined, { numeric: true });
    return falling ? -order : order;
  };

  const FILTERS = {
    all: () => true,
    wins: (row) => row.outcome === "win",
    losses: (row) => row.outcome === "loss",
    "not played": (row) => row.missing || row.empty,
    "wrong seats": (row) => row.wrong.length > 0,
  };

  const choice = (label, options, change) => {
    const list = make("select", {}, ...options.map((word) => make("option", { value: word, textContent: word })));
    list.addEventListener("change", change);
    return [list, make("label", {}, label, list)];
  };

  const drawEpisodes = (table, place) => {
    const all = decoded(table);
    const columns = table.columns.filter((column) => 
      column === "links" ? all.some((row) => row.links.length) : column !== "cause" || all.some((row) => row.cause));
    let sorted = { column: "", falling: false };

    const body = make("tbody");
    const shown = make("output");
    shown.setAttribute("aria-live", "polite");
    const find = make("input", { type: "search", autocomplete: "off" });
    const kinds = Object.keys(FILTERS).filter((kind) => table.columns.includes("outcome") || !["wins", "losses"].includes(kind));
    const update = () => {
      const wanted = find.value.trim().toLowerCase();
      const rows = all.filter((row) =>
        (arm.value === "both" || row.arm === arm.value) && FILTERS[kind.value](row) && row.text.includes(wanted));
      if (sorted.column) rows.sort(compared(sorted.column, sorted.falling));
      body.replaceChildren(...rows.map((row) => {
        const line = make("tr", {}, ...columns.map((column) => cell(column, row)));
        line.classList.toggle("is-wrong", row.wrong.length > 0);
        line.classList.toggle("is-missing", row.missing);
        return line;
      }));
      shown.textContent = `${rows.length} of ${all.length} episodes`;
    };
    const [arm, armLabel] = choice("arm", ["both", ...table.arms.map((one) => words[one.side])], update);
    const [kind, kindLabel] = choice("show", kinds, update);
    find.addEventListener("input", update);

    const heads = columns.map((column) => {
      const button = make("button", { type: "button", textContent: TITLES[column] ?? column });
      const head = make("th", { scope: "col" }, button);
      if (NUMBERS.has(column)) head.classList.add("number");
      button.addEventListener("click", () => {
        sorted = { column, falling: sorted.column === column && !sorted.falling };
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", sorted.falling ? "descending" : "ascending");
        update();
      });
      return head;
    });
    const drawn = make("table", { className: "rows" }, make("thead", {}, make("tr", {}, ...heads)), body);
    place.append(
      make("div", { className: "tools" }, make("label", {}, "find", find), armLabel, kindLabel, shown),
      scrolled("Episodes", drawn),
    );
    update();
  };

  // ---------------------------------------------------------------- matrix

  const seatName = ([position, label, role]) => `${position} ${words[label]}, ${words[role]}`;

  const matrixCell = (row, position) => {
    const there = row.wrong.find(([seat]) => seat === position);
    const [kind, sign, what] = row.empty ? ["empty", "–", "never seated"]
      : there ? ["wrong", "✕", words[there[1]]] : ["right", "·", "as placed"];
    return make("td", { className: `cell ${kind}`, textContent: sign, title: `episode ${row.number}, seat ${position}: ${what}` });
  };

  const band = (arm, rows, first) => {
    const known = arm.seats.map(([position]) => position);
    const extra = new Set(rows.flatMap((row) => row.wrong.map(([position]) => position)).filter((seat) => !known.includes(seat)));
    const heads = rows.map((row, i) => make("th", {
      scope: "col", textContent: i === 0 || row.number % 5 === 0 ? row.number : "",
    }));
    const line = (name, position, tested) => {
      const head = make("th", { scope: "row" }, make("span", { textContent: name, title: name }));
      head.classList.toggle("tested", tested);
      return make("tr", {}, head, ...rows.map((row) => matrixCell(row, position)));
    };
    const table = make("table", { className: "grid" },
      make("thead", {}, make("tr", {}, make("td"), ...heads)),
      make("tbody", {},
        ...arm.seats.map((seat) => line(seatName(seat), seat[0], seat[0] === arm.tested)),
        ...[...extra].map((position) => line(`${position} nobody was placed here`, position, false))));
    if (first) table.prepend(make("caption", { textContent: `${words[arm.side]}, seat by episode; the tested seat is bold` }));
    return table;
  };

  const drawMatrix = (table, place) => {
    const all = decoded(table);
    const most = NARROW.matches ? 12 : 40;
    for (const arm of table.arms) {
      const rows = all.filter((row) => row.arm === words[arm.side]);
      const bands = make("div", { className: "matrix" });
      const size = Math.ceil(rows.length / Math.ceil(rows.length / most)); // bands of one length
      for (let i = 0; i < rows.length; i += size) bands.append(band(arm, rows.slice(i, i + size), i === 0));
      if (rows.length) place.append(scrolled(`Seats of the ${words[arm.side]}`, bands));
    }
  };

  // ------------------------------------------------------------------ page

  const whenOpen = (details, draw) => {
    let drawn = false;
    const once = () => {
      if (drawn || !details.open) return;
      drawn = true;
      draw();
    };
    details.addEventListener("toggle", once);
    once();
  };

  for (const article of document.querySelectorAll("[data-comparison]")) {
    const table = comparisons[Number(article.dataset.comparison)];
    for (const [kind, place, draw] of [["seats", "matrix", drawMatrix], ["episodes", "drawn", drawEpisodes]]) {
      const details = article.querySelector(`details.${kind}`);
      if (details) whenOpen(details, () => draw(table, details.querySelector(`.${place}`)));
    }
  }
})();
