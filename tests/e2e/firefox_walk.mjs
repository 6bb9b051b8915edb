// Opens addresses in Firefox one after the other, and prints what each says and every complaint.
// node firefox_walk.mjs EXECUTABLE FIGURES ADDRESS...
import { readFileSync } from "node:fs";
import puppeteer from "puppeteer-core";

const [executablePath, file, ...addresses] = process.argv.slice(2);
const figures = `(${readFileSync(file, "utf8").replace(/^\/\*\*[\s\S]*?\*\/\s*/, "").trim().replace(/;$/, "")})()`;
const seen = { figures: [], complaints: [] };
const browser = await puppeteer.launch({ browser: "firefox", executablePath, headless: true });
try {
  const page = await browser.newPage();
  await page.setViewport({ width: 1440, height: 900 });
  page.on("console", (message) => {
    if (message.type() === "error") seen.complaints.push(message.text());
  });
  page.on("pageerror", (error) => seen.complaints.push(String(error)));
  page.on("request", (request) => {
    if (/^https?:/.test(request.url())) seen.complaints.push(request.url());
  });
  for (const address of addresses) {
    await page.goto("about:blank");
    await page.goto(address);
    let before = "";
    for (const until = Date.now() + 120_000; Date.now() < until; ) {
      await new Promise((resolve) => setTimeout(resolve, 500));
      const now = JSON.stringify(await page.evaluate(figures));
      if (now !== "null" && now === before) break;
      before = now;
    }
    seen.figures.push(JSON.parse(before));
  }
} finally {
  await browser.close();
}
console.log(JSON.stringify(seen));
