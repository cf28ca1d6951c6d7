// The pictures of README and docs, from real runs: node tests/browser/shots.mjs FOLDER [NAME]
// With the font Inter installed (Debian: fonts-inter) they look the same on every machine.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { startModel } from '../real/model.mjs';
import { startSite } from '../real/site.mjs';
import { CONFIG, IMPORT, SLOW, story } from '../real/stories.mjs';

const [folder = '/tmp/shots', only = ''] = process.argv.slice(2);
const SIZES = { desktop: [1280, 800], phone: [390, 844] };
mkdirSync(folder, { recursive: true });
const fonts = join(mkdtempSync(join(tmpdir(), 'surefoot-fonts-')), 'fonts.conf');
const prefer = (family, font) => `<match target="pattern"><test name="family"><string>${family}</string></test><edit name="family" mode="prepend" binding="strong"><string>${font}</string></edit></match>`;
writeFileSync(fonts, `<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd"><fontconfig><include>/etc/fonts/fonts.conf</include>${prefer('system-ui', 'Inter')}${prefer('sans-serif', 'Inter')}</fontconfig>`);
process.env.FONTCONFIG_FILE = fonts;
const { open } = await import('./support.mjs');

const projects = join(tmpdir(), 'projects');
const model = await startModel(story);
const site = await startSite({ SUREFOOT_MODEL: model.spec }, projects);
const start = (name, { task, checks, files, options = {} }) => site.run({ task, checks, folder: site.project(name, files), model: model.spec, options });
const slow = await start('service', SLOW);
const healed = await start('invoices', { ...IMPORT, options: { max_time: '30m' } });
await new Promise((resolve) => site.given('service-config', CONFIG, ['--approve=ask']).once('exit', resolve));
await site.until(healed, (row) => row.verdict);
await site.until(slow, (row) => row.now);
const { runs } = await site.api('/api/runs');
const asking = runs.find((row) => row.task === CONFIG.task).id;

const SHOTS = [
  ['page-run', `#/run/${healed}/step/s3`, 'desktop', '[role=tabpanel] ol'],
  ['page-questions', `#/run/${asking}`, 'desktop', '[data-question] table'],
  ['page-list', '#/', 'desktop', 'a[href^="#/run/"]'],
  ['page-phone', `#/run/${asking}`, 'phone', '[data-question] table'],
  ['page-phone-plan', `#/run/${healed}`, 'phone', '[role=treegrid] .row'],
];
const browser = await open();
for (const theme of ['light', 'dark']) {
  for (const [name, hash, size, selector] of SHOTS) {
    if (!name.includes(only)) continue;
    const [width, height] = SIZES[size];
    const context = await browser.newContext({ viewport: { width, height: name === 'page-list' ? 420 : height }, colorScheme: theme, locale: 'en-US', reducedMotion: 'reduce' });
    const page = await context.newPage();
    await page.goto(`${site.base}/#t=${site.token}`);
    await page.waitForSelector('.link.live');
    await page.evaluate((to) => (location.hash = to), hash);
    await page.locator(selector).first().waitFor();
    if (size === 'desktop' && hash !== '#/') await page.waitForSelector('button.node');
    await page.waitForTimeout(1_000);
    writeFileSync(resolve(folder, `${name}-${theme}.webp`), await asWebp(browser, await page.screenshot()));
    await context.close();
  }
}
await browser.close();
await site.close();
await model.close();
rmSync(projects, { recursive: true, force: true });
process.exit(0);

/** A third of the size of a PNG. The browser can make it, so that no other program is needed. */
async function asWebp(browser, png) {
  const page = await browser.newPage();
  const encoded = await page.evaluate(async (data) => {
    const picture = await createImageBitmap(await (await fetch(`data:image/png;base64,${data}`)).blob());
    const canvas = new OffscreenCanvas(picture.width, picture.height);
    canvas.getContext('2d').drawImage(picture, 0, 0);
    const bytes = new Uint8Array(await (await canvas.convertToBlob({ type: 'image/webp', quality: 0.9 })).arrayBuffer());
    return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''));
  }, png.toString('base64'));
  await page.close();
  return Buffer.from(encoded, 'base64');
}
