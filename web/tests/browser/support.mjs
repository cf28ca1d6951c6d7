// Starts the Chromium of the system. CHROMIUM names another one.
import { existsSync } from 'node:fs';
import { chromium } from 'playwright-core';

export async function open() {
  const path = [process.env.CHROMIUM, '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find((item) => item && existsSync(item));
  if (!path) throw new Error('no Chromium: install it (apt-get install -y chromium), or set CHROMIUM to its path');
  return chromium.launch({ executablePath: path, args: ['--no-sandbox', '--disable-gpu'] });
}
