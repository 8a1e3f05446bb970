// Browsers start no worker from a file. For a site that is opened from files, an iframe runs the
// script of the search instead; its name tells the plugin `offline` to load no other.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.append(this.frame);
      const inside = this.frame.contentWindow;
      inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      const script = inside.document.createElement("script");
      script.src = new URL(url, location);
      this.loaded = new Promise((resolve) => script.addEventListener("load", resolve));
      inside.document.head.append(script);
    }
    postMessage(data) {
      const message = new MessageEvent("message", { data });
      this.loaded.then(() => this.frame.contentWindow.dispatchEvent(message));
    }
    terminate() {
      this.frame.remove();
    }
  };
}
