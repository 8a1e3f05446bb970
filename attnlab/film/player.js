// Draws a film and lets it be played: one frame for each kept step of a run. `createFilm` returns a
// function that takes the film's data, at first and whenever they change; while a run trains, each
// data have the newest frame. `report` gets the step at which the user rests, or null for the last.
// All text enters as text, never as HTML.
function createFilm(root, report = () => {}) {
    const SVG = "http://www.w3.org/2000/svg"
    const add = (parent, name, attributes = {}, text = "") => {
        const isSvg = name === "svg" || parent.namespaceURI === SVG
        const node = isSvg ? document.createElementNS(SVG, name) : document.createElement(name)
        for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value)
        if (text !== "") node.textContent = text
        return parent.appendChild(node)
    }
    // A model that diverged predicts nothing.
    const percent = share => share === null ? "–" : share > 0 && share < 0.005 ? "< 1 %" : `${Math.round(100 * share)} %`
    const headColour = head => `var(--head-${head % 8})`

    // `at` is the shown frame, `rest` the one that it returns to when the pointer leaves the loss;
    // null follows the run.
    let film = null, parts = [], sized = [], at = 0, rest = null, waited = null, timer = 0, pause = 0, isPointed = false
    let stage, left, right, sequence, says, maps, chances, learned, legend, loss, slider, button, readout
    const last = () => film.frames.length - 1

    // ---- The page: words, stage, control.
    const build = () => {
        root.replaceChildren()
        // What is marked as a picture is in the files that the two buttons save.
        if (film.title) add(root, "h1", { "data-picture": "" }, film.title)
        if (film.about) add(root, "p", { "data-picture": "" }, film.about)
        stage = add(root, "div", { class: "stage", "data-picture": "" })
        left = add(stage, "div"), right = add(stage, "div")
        parts = film.subject?.name === "beliefs" ? [drawBeliefs()] : []
        if (film.subject?.name === "waiting") add(left, "p", { class: "waiting" }, film.subject.words)
        sequence = add(add(left, "figure"), "svg", { role: "img", "aria-label": film.says })
        const decides = film.marked.length ? `Underlined: the ${film.word}s that decide. ` : ""
        const grey = film.maps.some(map => !map.trained && map.rows.length > 1) ? " Grey: not trained." : ""
        says = add(sequence.parentNode, "figcaption", {}, decides + film.arcs + grey)
        add(says, "span", { hidden: "" }, " Numbers: %.")
        const count = film.maps.length
        maps = add(left, "div", { class: "maps", style: `--columns: ${count > 4 && count % 3 === 0 ? 3 : Math.min(count, 4)}` })
        chances = add(right, "table")
        learned = add(right, "p", { class: "learned" })
        add(learned, "b")
        add(learned, "small", {}, film.scale)
        legend = add(right, "p", { class: "legend" })
        loss = add(add(right, "figure"), "svg", { role: "img", class: "loss" })
        const control = add(root, "div", { class: "control" })
        button = add(control, "button", { type: "button", "aria-label": "Play" }, "▶")
        slider = add(control, "input", { type: "range", min: 0, "aria-label": "step of the run" })
        readout = add(control, "output", { "data-picture": "" })
        for (const kind of ["svg", "png"]) {
            const save = add(control, "button", { type: "button", class: "save", "aria-label": `Save this picture as ${kind.toUpperCase()}` }, kind.toUpperCase())
            save.onclick = () => savePicture(root, kind, `attnlab-step-${film.frames[at].step}`)
        }
        for (const words of film.footer ?? []) add(root, "p", {}, words)
        if (film.made) {
            const made = add(root, "p", { class: "quiet" }, film.made)
            if (film.link) add(made, "a", { href: film.link, rel: "noopener" }, "Open it in attnlab")
        }
        button.onclick = play
        slider.oninput = () => go(Number(slider.value))
        parts.push(...bars(), ...film.maps.map(drawMap))
        if (film.subject?.name === "losses") parts.push(drawLosses())
    }

    // ---- Probabilities of the next token.
    const bars = () => {
        if (!film.likely.length) return []
        const head = add(chances, "tr")
        for (const word of ["next", "model", film.truthName ?? "truth"]) add(head, "th", { scope: "col" }, word)
        // A frame whose model finds others likely names its own.
        const most = Math.max(...[film, ...film.frames].map(each => each.likely?.length ?? 0))
        return Array.from({ length: most }, (_, place) => {
            const row = add(chances, "tr"), name = add(row, "td")
            const cells = ["model", "truth"].map(kind => {
                const cell = add(row, "td")
                return { bar: add(cell, "span", { class: kind }), number: add(cell, "b") }
            })
            const show = (cell, share) => {
                cell.bar.style.width = `${60 * share}px`
                cell.number.textContent = percent(share)
            }
            return frame => {
                const { likely, truth } = frame.likely ? frame : film
                row.style.visibility = place < likely.length ? "visible" : "hidden"
                if (place >= likely.length) return
                name.textContent = likely[place]
                show(cells[0], frame.probs[place])
                show(cells[1], truth[place])
            }
        })
    }

    // ---- The sequence, with an arc to each position that a head looks at. A long one has several
    // lines, so that its symbols can be read.
    const drawSequence = width => {
        sequence.replaceChildren()
        const count = film.symbols.length, lines = Math.min(4, Math.ceil((count + 1) / Math.max(1, width / 18)))
        const columns = lines === 1 ? count + 1.2 : Math.ceil((count + 1) / lines)
        const cell = Math.min(60, width / columns), size = Math.min(28, cell * 0.72)
        const room = lines === 1 ? Math.min(72, 20 + cell * count * 0.2) : 30, line = size + 47
        // The middle of a symbol, and the top of its line.
        const at = i => lines === 1 ? [cell * (i + 0.5), room]
            : [cell * (i % columns + 0.5), room + line * Math.floor(i / columns)]
        const [question, top] = at(lines === 1 ? count + 0.2 : count)
        sequence.setAttribute("viewBox", `0 0 ${width} ${top + size + 30}`)
        const arcs = add(sequence, "g")
        // Beside each other, so that the arcs of each head can be followed.
        const looking = film.maps.flatMap((map, head) => map.predicting ? [head] : [])
        const gap = Math.min(6, 0.7 * cell / looking.length), thick = Math.min(8, 3 + gap)
        const place = (symbol, number, [middle, top], decides) => {
            const look = { x: middle, "text-anchor": "middle" }
            const text = add(sequence, "text", { ...look, y: top + size }, symbol)
            text.style.fontSize = `${size}px`
            if (cell > 16 || decides || number === film.number)
                add(sequence, "text", { ...look, y: top + size + 17, class: decides ? "" : "quiet" }, number)
            if (decides) {
                const y = top + size + 24, half = cell * 0.32
                add(sequence, "line", { x1: middle - half, x2: middle + half, y1: y, y2: y, class: "decides" })
            }
        }
        film.symbols.forEach((symbol, i) => place(symbol, i + 1, at(i), film.marked.includes(i + 1)))
        place("?", film.number, [question, top], false)
        add(sequence, "rect", {
            x: question - cell * 0.42, y: top - 2, width: cell * 0.84, height: size + 8, rx: 6, class: "question",
        })
        return frame => {
            arcs.replaceChildren()
            film.maps.forEach((map, head) => {
                const order = looking.indexOf(head), shift = gap * (order - (looking.length - 1) / 2)
                if (order < 0) return
                const strongest = [...rowOf(frame, head)].map((share, key) => [share, key])
                    .filter(([share]) => share >= 2 && share <= 100)
                strongest.sort((one, other) => other[0] - one[0])
                for (const [share, key] of strongest.slice(0, 10)) {
                    const [end, y] = at(map.keys[key])
                    // Farther positions have higher arcs; in an earlier line, an arc ends from above.
                    const high = lines > 1 ? y - 26 : room * (1 - Math.abs(question - end) / (question + cell)) - 8 - shift
                    const [from, to] = [question + shift, end + shift]
                    add(arcs, "path", {
                        d: `M${from},${top - 4} C${from},${high} ${to},${high} ${to},${y - 4}`,
                        class: "arc",
                        style: `stroke:${headColour(head)};stroke-width:${1 + share / 100 * thick};stroke-opacity:${0.3 + share / 200}`,
                    })
                }
            })
        }
    }

    // ---- The map of each head. A cell is a byte: its whole percents, or 255 where there is none.
    const cellsOf = (frame, head) => {
        frame.cells ??= frame.maps.map(text => Uint8Array.from(atob(text), letter => letter.charCodeAt(0)))
        return frame.cells[head]
    }
    const rowOf = (frame, head) => {
        const { predicts, keys } = film.maps[head]
        return cellsOf(frame, head).subarray(predicts * keys.length, (predicts + 1) * keys.length)
    }
    const drawMap = (map, head) => {
        const figure = add(maps, "figure"), caption = add(figure, "figcaption")
        add(caption, "i").style.background = headColour(head)
        const words = add(caption, "span")
        const rows = map.rows.length, columns = map.keys.length, isLow = rows === 1
        const canvas = add(figure, "canvas", { role: "img" }), context = canvas.getContext("2d")
        const quantity = map.name === "influence" ? "influence" : "attention"
        let shown = null, pointed = ""
        const say = () => {
            const row = rowOf(shown, head)
            let key = -1
            row.forEach((share, i) => { if (share <= 100 && (key < 0 || share > row[key])) key = i })
            const most = row[key] ?? 0, where = `${film.word} ${map.keys[key] + 1}`
            const finding = most >= 90 ? ` · ${where}` : most >= 50 ? ` · mostly ${where}` : ""
            words.textContent = pointed || map.name + (map.predicting ? finding : "")
            canvas.setAttribute("aria-label",
                `${map.name}: ${quantity} of ${rows} × ${columns}. In the row of ${film.word} ${map.rows[map.predicts] + 1}, ${where} has the most: ${most} %.`)
        }
        const draw = frame => {
            shown = frame
            // Also colours, which change with the theme.
            const look = getComputedStyle(canvas), wide = canvas.clientWidth, scale = devicePixelRatio || 1
            const unit = wide / columns, high = isLow ? Math.max(unit, wide / 8) : unit
            const type = Math.max(10, Math.min(13, wide / 18)), tall = rows * high + 1.5 * type
            if (!wide) return
            canvas.style.height = `${tall}px`
            canvas.width = Math.round(wide * scale), canvas.height = Math.round(tall * scale)
            context.scale(scale, scale)
            const gap = unit > 8 ? 1 : 0, cells = cellsOf(frame, head)
            const { color: ink, caretColor: paint, outlineColor: ground, borderTopColor: empty } = look
            context.textAlign = "center"
            context.textBaseline = "middle"
            for (let row = 0; row < rows; row++) {
                const counts = map.trained || row === map.predicts
                for (let key = 0; key < columns; key++) {
                    const share = cells[row * columns + key]
                    if (share > 100) continue
                    const box = [key * unit + gap, row * high + gap, unit - 2 * gap, high - 2 * gap]
                    context.globalAlpha = 0.45
                    context.fillStyle = empty
                    if (gap) context.fillRect(...box)
                    context.globalAlpha = (counts ? 1 : 0.25) * share / 100
                    context.fillStyle = counts ? paint : ink
                    context.fillRect(...box)
                    if (share >= 5 && unit > 17 && row === map.predicts) {
                        context.globalAlpha = 1
                        context.fillStyle = share > 55 ? ground : ink
                        context.font = `${0.85 * type}px sans-serif`
                        context.fillText(share, (key + 0.5) * unit, (row + 0.5) * high)
                        says.lastChild.hidden = quantity === "influence"
                    }
                }
            }
            context.globalAlpha = 1
            context.strokeStyle = ink
            for (const [row, key] of map.true) context.strokeRect(key * unit + gap + 0.5, row * high + gap + 0.5, unit - 2 * gap - 1, high - 2 * gap - 1)
            if (!isLow && map.predicting && !map.true.length)
                context.strokeRect(0.5, map.predicts * high + 0.5, wide - 1, high - 1)
            context.fillStyle = ink
            const every = Math.ceil(columns / 10)
            map.keys.forEach((key, i) => {
                const decides = film.marked.includes(key + 1)
                context.globalAlpha = decides ? 1 : 0.65
                context.font = `${decides ? "bold " : ""}${type}px sans-serif`
                if (i % every === 0) context.fillText(key + 1, (i + 0.5) * unit, rows * high + 0.85 * type)
            })
            say()
        }
        canvas.onpointermove = event => {
            const box = canvas.getBoundingClientRect(), high = (isLow ? Math.max(box.width / columns, box.width / 8) : box.width / columns)
            const key = Math.floor((event.clientX - box.left) / box.width * columns), row = Math.floor((event.clientY - box.top) / high)
            const share = row < rows ? cellsOf(shown, head)[row * columns + key] : 255
            pointed = share <= 100 ? `${film.word} ${map.rows[row] + 1} → ${map.keys[key] + 1}: ${share} %` : ""
            say()
        }
        canvas.onpointerleave = () => { pointed = ""; say() }
        // Of a property, the browser resolves the colour for the theme.
        canvas.style.caretColor = headColour(head)
        return draw
    }

    // ---- What some of the models were measured for; other frames show the last one before them.
    const measuredAt = ({ step }) => film.measured.findLast(each => each.step <= step) ?? film.measured[0]
    const inStep = ({ step }) => `step ${step.toLocaleString("en")}`

    // ---- Beliefs as dots: the exact ones, and those that a probe reads from the model.
    const drawBeliefs = () => {
        const { exact, corners, title, words } = film.subject
        const bytes = text => Uint8Array.from(atob(text), letter => letter.charCodeAt(0))
        const colours = bytes(film.subject.colours), count = colours.length / 3
        const planes = add(left, "div", { class: "beliefs" }), side = 640
        // A triangle is lower than it is wide.
        const high = Math.round(side * (corners.length === 3 ? 0.87 : 1))
        const plane = () => {
            const figure = add(planes, "figure"), caption = add(figure, "figcaption")
            const canvas = add(figure, "canvas", { width: side, height: high, role: "img" })
            return { caption, canvas, context: canvas.getContext("2d") }
        }
        const place = share => side * (share + 0.1) / 1.2
        const dot = count > 1000 ? 4 : 7
        const draw = ({ context, canvas, caption }, packed, title) => {
            const points = new Uint16Array(bytes(packed).buffer)
            caption.textContent = title
            canvas.setAttribute("aria-label", title)
            context.clearRect(0, 0, side, high)
            context.fillStyle = context.strokeStyle = getComputedStyle(canvas).color
            context.globalAlpha = 0.4
            context.beginPath()
            for (const [x, y] of corners) context.lineTo(place(x), high - place(y))
            context.closePath()
            context.stroke()
            context.globalAlpha = 0.85
            // Of the same size on every screen.
            const pixel = side / (canvas.clientWidth || side)
            context.font = `${12 * pixel}px sans-serif`
            // Within the picture: the upper name is beside its corner, and the lower ones end with it.
            for (const [x, y, name] of corners) {
                context.textAlign = y > 0.5 || x < 0.5 ? "left" : "right"
                const at = y > 0.5 ? place(x) + 8 * pixel : x < 0.5 ? 0 : side
                context.fillText(name, at, high - place(y) + pixel * (y > 0.5 ? 4 : 12))
            }
            for (let i = 0; i < count; i++) {
                const [x, y] = [points[2 * i], points[2 * i + 1]].map(share => side * share / 65535)
                context.fillStyle = `rgb(${colours.subarray(3 * i, 3 * i + 3)})`
                context.fillRect(x - dot / 2, high - y - dot / 2, dot, dot)
            }
        }
        const truth = plane(), probed = plane()
        add(left, "p", { class: "quiet" }, words)
        let drawn = null
        return frame => {
            const found = measuredAt(frame), look = [found, getComputedStyle(truth.canvas).color, truth.canvas.clientWidth]
            if (look.every((each, i) => each === drawn?.[i])) return
            drawn = look
            // Also the exact ones, whose ink changes with the theme.
            draw(truth, exact, title)
            if (found) draw(probed, found.points, `${found.title}, ${inStep(found)}`)
        }
    }

    // ---- The loss at each position: the model's falls if it infers the rule of its sequence.
    const drawLosses = () => {
        const { title, places, curves } = film.subject
        const figure = add(left, "figure"), names = add(figure, "p", { class: "legend" })
        const picture = add(figure, "svg", { role: "img", class: "losses" })
        const looks = curves.map(([name], i) => ({
            stroke: name.startsWith("optimal") ? "var(--ink)" : `var(--head-${1 + i % 7})`, dash: i ? "6 4" : "2 3",
        }))
        add(names, "span", { class: "quiet" }, title)
        const entry = (name, colour) => {
            const place = add(names, "span")
            add(place, "i").style.background = colour
            return add(place, "span", {}, name)
        }
        const ofModel = entry("model", "var(--learned)")
        curves.forEach(([name], i) => entry(name, looks[i].stroke))
        const height = 150, bottom = height - 20
        const known = curves.flatMap(curve => curve[1]), low = Math.min(...known), high = 1.1 * Math.max(...known)
        let wide = 0, line = null
        const x = place => 30 + (wide - 36) * (place - places[0]) / (places.at(-1) - places[0] || 1)
        const y = nats => bottom - (bottom - 6) * (Math.min(nats, high) - 0.9 * low) / (high - 0.9 * low || 1)
        const path = nats => nats.map((each, i) => each === null ? "" : `${i ? "L" : "M"}${x(places[i])},${y(each)}`).join("")
        const build = () => {
            picture.replaceChildren()
            picture.setAttribute("viewBox", `0 0 ${wide} ${height}`)
            for (const nats of [low, high / 1.1])
                add(picture, "text", { x: 0, y: y(nats) + 4, class: "quiet" }, nats.toFixed(2))
            for (const place of new Set([places[0], places.at(-1)]))
                add(picture, "text", { x: x(place), y: height - 2, class: "quiet", "text-anchor": "middle" }, place)
            curves.forEach(([, nats], i) => add(picture, "path", {
                class: "curve thin", d: path(nats), "stroke-dasharray": looks[i].dash, style: `stroke:${looks[i].stroke}`,
            }))
            line = add(picture, "path", { class: "curve" })
        }
        return frame => {
            if (left.clientWidth !== wide) {
                wide = left.clientWidth
                build()
            }
            const found = measuredAt(frame)
            if (!found) return
            line.setAttribute("d", path(found.nats))
            const [first, end] = [found.nats[0], found.nats.at(-1)].map(each => each === null ? "–" : each.toFixed(3))
            ofModel.textContent = `model, ${inStep(found)}`
            picture.setAttribute("aria-label", `Loss of the ${ofModel.textContent}, by ${film.word}: from ${first} to ${end} nats, and ${curves.length} reference predictors.`)
        }
    }

    // ---- The loss, with floor and baselines; it is the second handle of the step.
    const drawLoss = width => {
        loss.replaceChildren()
        legend.replaceChildren()
        add(legend, "span", { class: "quiet" }, "loss (nats)")
        const values = film.curves.map(curve => {
            const entry = add(legend, "span"), mark = add(entry, "i")
            mark.style.background = curve.colour
            add(entry, "span", {}, `${curve.name} `)
            return add(entry, "b")
        })
        const others = chances.offsetHeight + learned.offsetHeight + legend.offsetHeight + 14
        const most = Math.min(420, 0.36 * innerHeight)
        const height = Math.max(150, Math.min(most, left.offsetHeight - others)), top = 16, bottom = height - 36
        // Most runs begin far above all their later losses, which may be cut off.
        const end = film.end || 1, points = film.curves.flatMap(curve => curve.points)
        const later = points.filter(point => point[0] > 0.02 * end), drawn = later.length ? later : points
        const seen = drawn.map(point => point[1]), known = film.levels.map(level => level[1])
        const low = Math.min(...seen, ...known), high = Math.max(...seen, ...known)
        const room = 0.06 * (high - low || 1)
        const x = step => width * (film.log ? Math.log1p(step) / Math.log1p(end) : step / end)
        const y = nats => bottom - (bottom - top) * (Math.min(nats, high) - low + room) / (high - low + 2 * room)
        loss.setAttribute("viewBox", `0 0 ${width} ${height}`)
        loss.setAttribute("aria-label", film.lossSays)
        // What a model may beat has a colour of its own.
        const isReference = name => name.startsWith("best reference")
        for (const [name, nats] of film.levels)
            add(loss, "line", { x1: 0, x2: width, y1: y(nats), y2: y(nats), class: isReference(name) ? "level reference" : "level" })
        for (const [step, words] of film.changes ?? []) {
            const line = add(loss, "line", { x1: x(step), x2: x(step), y1: top, y2: bottom, class: "level" })
            add(line, "title", {}, words)
            add(loss, "text", { x: x(step) + 2, y: top + 8 }, "✎")
        }
        for (const { points, low, high } of film.bands ?? [])
            add(loss, "path", { class: "band", d: `M${points.map((p, i) => `${x(p)},${y(high[i])}`).join("L")}L${points.map((p, i) => `${x(p)},${y(low[i])}`).reverse().join("L")}Z` })
        for (const { points, colour, thin, dash } of film.curves)
            add(loss, "path", {
                class: thin ? "curve thin" : "curve", style: `stroke:${colour}`, "stroke-dasharray": dash ?? "none",
                d: points.map(([step, nats], i) => `${i ? "L" : "M"}${x(step)},${y(nats)}`).join(""),
            })
        // Over the curves, which would cross out the names.
        film.levels.forEach(([name, nats, text], i) => {
            const look = { x: width - 6, "text-anchor": "end", class: isReference(name) ? "name reference" : "quiet name" }
            add(loss, "text", { ...look, y: y(nats) + (i === film.levels.length - 1 ? 15 : -5) }, `${name} ${text}`)
        })
        const axis = bottom + 16
        add(loss, "line", { x1: 0, x2: width, y1: axis, y2: axis, class: "axis" })
        add(loss, "text", { x: 0, y: axis + 16, class: "quiet" }, "0")
        add(loss, "text", { x: width, y: axis + 16, "text-anchor": "end", class: "quiet" }, `${end.toLocaleString("en")} steps`)
        const cursor = add(loss, "line", { y1: top, y2: bottom, class: "cursor" })
        const pointed = event => {
            const share = (event.clientX - loss.getBoundingClientRect().left) / loss.clientWidth
            return nearest(film.log ? Math.expm1(share * Math.log1p(end)) : share * end)
        }
        loss.onpointermove = event => { stop(); isPointed = true; show(pointed(event)) }
        loss.onpointerdown = event => go(pointed(event))
        loss.onpointerleave = () => { isPointed = false; if (!timer) show(rest ?? last()) }
        return ({ step }) => {
            for (const side of ["x1", "x2"]) cursor.setAttribute(side, x(step))
            film.curves.forEach(({ points }, i) => {
                const found = points.findLast(point => point[0] <= step)
                values[i].textContent = found ? found[1].toFixed(3) : "–"
            })
        }
    }
    const nearest = step => film.frames.reduce(
        (best, each, i) => Math.abs(each.step - step) < Math.abs(film.frames[best].step - step) ? i : best, 0)

    // ---- One frame, and playing all of them in some eight seconds.
    const show = frame => {
        at = Math.max(0, Math.min(frame, last()))
        const shown = film.frames[at]
        for (const draw of [...parts, ...sized]) draw(shown)
        slider.value = at
        learned.firstChild.textContent = shown.learned
        // A share has its scale beside it.
        learned.className = shown.learned.endsWith("%") ? "learned" : "learned words"
        const words = `Step ${shown.step.toLocaleString("en")}${shown.caption ? `: ${shown.caption}` : ""}`
        readout.textContent = words
        slider.setAttribute("aria-valuetext", words)
        // A step counts once the user rests at it; while the run trains, it is drawn again and again.
        const step = at === last() ? null : shown.step
        if (step === waited) return
        waited = step
        clearTimeout(pause)
        pause = setTimeout(() => { if (timer) waited = undefined; else report(step) }, 300)
    }
    const go = frame => {
        stop()
        rest = frame === last() ? null : frame
        show(frame)
    }
    const stop = () => {
        if (timer) rest = at === last() ? null : at
        clearInterval(timer)
        timer = 0
        button.textContent = "▶"
        button.setAttribute("aria-label", "Play")
    }
    const play = () => {
        if (timer) return go(at)
        if (at === last()) show(0)
        // No panel keeps the step at which it began.
        if (waited !== null) report(waited = null)
        button.textContent = "❚❚"
        button.setAttribute("aria-label", "Pause")
        timer = setInterval(() => at < last() ? show(at + 1) : go(last()), Math.max(50, 8000 / (last() + 1)))
    }
    const resize = () => {
        if (!film || !root.clientWidth) return
        // The height of the loss is what the maps leave, which the first drawing says.
        sized = [drawSequence(left.clientWidth)]
        for (const draw of parts) draw(film.frames[at])
        sized.push(drawLoss(right.clientWidth))
        show(at)
    }
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", resize)
    // Maps have the size that the height of the window allows.
    addEventListener("resize", resize)
    let width = 0
    new ResizeObserver(() => {
        if (Math.abs(root.clientWidth - width) < 1) return
        width = root.clientWidth
        resize()
    }).observe(root)

    // What is drawn once; all else is drawn with each frame or with the loss.
    const fixed = ({ title, about, footer, made, link, word, arcs, says, symbols, marked, likely, truth, truthName, maps, subject, scale }) =>
        JSON.stringify([title, about, footer, made, link, word, arcs, says, symbols, marked, likely, truth, truthName, maps, subject, scale])
    return data => {
        if (data.dark !== undefined) root.style.colorScheme = data.dark ? "dark" : "light"
        // Of the same run, the user's place stays; of another one, it is where the page was left.
        const before = film, isSame = before !== null && before.key === data.key
        const step = isSame ? before.frames[rest]?.step : data.at, shown = isSame ? before.frames[at].step : 0
        let earlier = data.live && isSame ? before.frames.filter(frame => frame.step < data.frames[0].step) : []
        // A long run has more frames than can be told apart; at rest it has those of its kept steps.
        if (earlier.length > 300) earlier = earlier.filter((_, i) => i % 2 === 0)
        const measured = data.measured ?? [], first = measured[0]?.step ?? Infinity
        const known = data.live && isSame ? before.measured.filter(each => each.step < first) : []
        film = { ...data, frames: [...earlier, ...data.frames], measured: [...known, ...measured] }
        rest = step === null || step === undefined ? null : nearest(step)
        if (rest === last()) rest = null
        at = timer || isPointed ? nearest(shown) : rest ?? last()
        if (!isSame) waited = data.at ?? null
        if (!before || fixed(before) !== fixed(data)) build()
        slider.max = last()
        slider.disabled = button.disabled = last() < 1
        resize()
    }
}
