// Downloads what is on the screen as a picture, SVG or PNG.
async function savePicture(root, kind, name) {
    // The line of the step is not where it sticks to the window.
    root.classList.add("saving")
    const frame = root.getBoundingClientRect(), margin = 12
    const tall = Math.max(...[...root.querySelectorAll("[data-picture], [data-picture] *")].map(node => node.getBoundingClientRect().bottom))
    const width = frame.width + 2 * margin, height = tall - frame.top + 2 * margin
    const parts = [], escape = text => text.replace(/[&<>"]/g, sign => `&#${sign.charCodeAt(0)};`)
    const place = box => [box.left - frame.left + margin, box.top - frame.top + margin].map(Math.round)
    const kept = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-opacity", "stroke-linecap", "stroke-linejoin", "paint-order", "opacity", "font-size", "font-family", "font-weight"]

    const addSvg = (node, box) => {
        const copy = node.cloneNode(true), originals = node.querySelectorAll("*")
        copy.querySelectorAll("*").forEach((each, i) => {
            const look = getComputedStyle(originals[i])
            each.removeAttribute("class")
            each.setAttribute("style", kept.map(style => `${style}:${look.getPropertyValue(style)}`).join(";").replaceAll('"', "'"))
        })
        const [x, y] = place(box)
        for (const [key, value] of Object.entries({ x, y, width: box.width, height: box.height, overflow: "visible" }))
            copy.setAttribute(key, value)
        parts.push(new XMLSerializer().serializeToString(copy))
    }
    const addText = node => {
        // One element for each line: a new one begins where a word is lower than the last.
        const look = getComputedStyle(node.parentElement), lines = []
        for (const { 0: word, index } of node.textContent.matchAll(/\S+/g)) {
            const range = document.createRange()
            range.setStart(node, index)
            range.setEnd(node, index + word.length)
            const box = range.getBoundingClientRect(), line = lines.at(-1)
            if (line && box.top - line.box.top < 4) line.words += ` ${word}`
            else lines.push({ box, words: word })
        }
        for (const { box, words } of lines) {
            const [x, y] = place(box)
            parts.push(`<text x="${x}" y="${y + box.height * 0.78}" fill="${look.color}" font-size="${look.fontSize}" font-weight="${look.fontWeight}" font-family="${escape(look.fontFamily)}">${escape(words)}</text>`)
        }
    }
    const walk = node => {
        if (node.nodeType === Node.TEXT_NODE) return addText(node)
        const look = getComputedStyle(node), box = node.getBoundingClientRect(), [x, y] = place(box)
        if (look.display === "none") return
        if (node.tagName === "svg") return addSvg(node, box)
        if (node.tagName === "CANVAS")
            return parts.push(`<image x="${x}" y="${y}" width="${box.width}" height="${box.height}" href="${node.toDataURL()}"/>`)
        if (look.backgroundColor !== "rgba(0, 0, 0, 0)" && box.width)
            parts.push(`<rect x="${x}" y="${y}" width="${box.width}" height="${box.height}" rx="${parseFloat(look.borderRadius) || 0}" fill="${look.backgroundColor}"/>`)
        node.childNodes.forEach(walk)
    }
    root.querySelectorAll("[data-picture]").forEach(walk)
    root.classList.remove("saving")
    const probe = root.querySelector("canvas")
    const ground = probe ? getComputedStyle(probe).outlineColor : "white"
    const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}"><rect width="100%" height="100%" fill="${ground}"/>${parts.join("")}</svg>`
    let address = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`
    if (kind === "png") {
        const image = new Image(), canvas = document.createElement("canvas")
        image.src = address
        await image.decode()
        canvas.width = 2 * width, canvas.height = 2 * height
        canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height)
        address = canvas.toDataURL()
    }
    const link = document.createElement("a")
    link.href = address
    link.download = `${name}.${kind}`
    link.click()
}
