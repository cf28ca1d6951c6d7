// Screenshots of the page for a person to look at: node tests/browser/shots.mjs FOLDER
import { mkdirSync } from 'node:fs';
import { startMock } from '../mock.mjs';
import { open } from './support.mjs';

const folder = process.argv[2] ?? '/tmp/shots';
const only = process.argv[3];
mkdirSync(folder, { recursive: true });
const mock = await startMock();
const ids = { asking: mock.load('asking'), healed: mock.load('healed'), many: mock.load('many') };
const browser = await open();
const WIDTHS = { desktop: [1440, 900], tablet: [900, 1100], phone: [390, 844] };
const SHOTS = [
  ['list', '#/', 'desktop', 'light', 'en'], ['list', '#/', 'phone', 'dark', 'zh'],
  ['asking', `#/run/${ids.asking}`, 'desktop', 'light', 'en'], ['asking', `#/run/${ids.asking}`, 'phone', 'light', 'en'], ['asking', `#/run/${ids.asking}`, 'desktop', 'dark', 'zh'],
  ['healed', `#/run/${ids.healed}/step/write`, 'desktop', 'light', 'en'], ['healed', `#/run/${ids.healed}/step/write`, 'phone', 'dark', 'zh'], ['healed-diff', `#/run/${ids.healed}/step/write/diff`, 'desktop', 'dark', 'en'],
  ['many', `#/run/${ids.many}`, 'desktop', 'light', 'en'], ['many', `#/run/${ids.many}`, 'phone', 'light', 'zh'], ['many', `#/run/${ids.many}`, 'tablet', 'dark', 'en'],
  ['new', '#/new', 'desktop', 'light', 'en'],
];
for (const [name, hash, size, theme, language] of SHOTS) {
  if (only && !name.startsWith(only)) continue;
  const [width, height] = WIDTHS[size];
  const context = await browser.newContext({ viewport: { width, height }, colorScheme: theme, locale: language === 'zh' ? 'zh-CN' : 'en-US' });
  const page = await context.newPage();
  page.on('console', (message) => ['error', 'warning'].includes(message.type()) && console.log(name, message.text()));
  page.on('pageerror', (error) => console.log(name, 'pageerror', error.message));
  await page.goto(`${mock.base}/#t=${mock.token}`);
  await page.waitForSelector('main');
  await page.evaluate((to) => (location.hash = to), hash);
  await page.waitForTimeout(1200);
  await page.screenshot({ path: `${folder}/${name}-${size}-${theme}-${language}.png` });
  await context.close();
}
await browser.close();
await mock.close();
process.exit(0);
