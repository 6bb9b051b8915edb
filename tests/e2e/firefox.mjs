// Opens an address in Firefox through WebDriver BiDi and prints what it saw as JSON.
// node firefox.mjs EXECUTABLE ADDRESS
import puppeteer from "puppeteer-core";

const [executablePath, address] = process.argv.slice(2);
const seen = { headings: [], console: [], foreign: [], failed: [] };
const browser = await puppeteer.launch({ browser: "firefox", executablePath, headless: true });
try {
  const page = await browser.newPage();
  await page.setViewport({ width: 1440, height: 900 });
  page.on("console", (message) => {
    if (message.type() === "error") seen.console.push(message.text());
  });
  page.on("pageerror", (error) => seen.console.push(String(error)));
  page.on("request", (request) => {
    const { protocol, hostname } = new URL(request.url());
    const local = ["127.0.0.1", "localhost"].includes(hostname);
    if (["http:", "https:"].includes(protocol) && !local) seen.foreign.push(request.url());
  });
  page.on("response", (response) => {
    if (response.status() >= 400) seen.failed.push(`${response.status()} ${response.url()}`);
  });
  await page.goto(address);
  const deadline = Date.now() + 60_000;
  while (seen.headings.length === 0 && Date.now() < deadline) {
    await new Promise((resolve) => setTimeout(resolve, 250));
    for (const frame of page.frames()) {
      try {
        const texts = await frame.$$eval("h1", (nodes) => nodes.map((node) => node.textContent));
        seen.headings.push(...texts.filter(Boolean));
      } catch {
        // The frame went away while it was asked.
      }
    }
  }
  await new Promise((resolve) => setTimeout(resolve, 1000));
} finally {
  await browser.close();
}
console.log(JSON.stringify(seen));
