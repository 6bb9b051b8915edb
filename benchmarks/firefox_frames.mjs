// Opens the Trace view in Firefox through WebDriver BiDi, holds keys, and prints frames as JSON.
// node firefox_frames.mjs EXECUTABLE ADDRESS '[["w", 2.0], …]'
import puppeteer from "puppeteer-core";

const [executablePath, address, moves] = process.argv.slice(2);
const seconds = (count) => new Promise((resolve) => setTimeout(resolve, 1000 * count));
const browser = await puppeteer.launch({ browser: "firefox", executablePath, headless: true });
let frames = [];
try {
  const page = await browser.newPage();
  await page.setViewport({ width: 1600, height: 972 });
  await page.goto(address);
  await page.waitForSelector("canvas", { timeout: 120_000 });
  await seconds(4);
  const canvas = await page.$("canvas");
  const box = await canvas.boundingBox();
  await page.mouse.move(box.x + box.width * 0.6, box.y + box.height * 0.4);
  await canvas.focus();
  await page.evaluate(() => {
    window.frames_seen = [];
    requestAnimationFrame(function tick(now) {
      window.frames_seen.push(now);
      requestAnimationFrame(tick);
    });
  });
  for (const [key, duration] of JSON.parse(moves)) {
    await page.keyboard.down(key);
    await seconds(duration);
    await page.keyboard.up(key);
  }
  frames = await page.evaluate(() => window.frames_seen);
} finally {
  await browser.close();
}
console.log(JSON.stringify(frames));
