import { chromium } from '/work/wt/invent46/node_modules/playwright-core/index.mjs';
import { openSite } from '/work/wt/invent46/tests/browser/site.js';
const site = await openSite();
for (const [name, viewport, dark] of [['d1440',{width:1440,height:1400}],['m390',{width:390,height:1900}],['l1280',{width:1280,height:720}],['dark',{width:1440,height:1400},true]]) {
  const ctx = await site.browser.newContext({ viewport, colorScheme: dark ? 'dark' : 'light' });
  const page = await ctx.newPage();
  await page.goto(site.url + '#v=2&text=a+rose+is+a+rose&formula=sin%28i%2F%281%2Bk%29%29&formulaBias=-abs%28i-j%29%2Flongest&at=encoding.encoding-schemes').catch(e=>console.log(e));
  await page.locator('[data-scheme="yours"] [data-verdict]').nth(3).waitFor({timeout:60000});
  await page.locator('[data-scheme="yours"]').evaluate(e=>e.scrollIntoView({block:'start'}));
  await page.waitForTimeout(1500);
  await page.locator('[data-scheme="yours"]').evaluate(e=>{ e.scrollIntoView({block:'start'}); scrollBy(0,-120)});
  await page.waitForTimeout(500);
  await page.screenshot({path:`/tmp/pics/${name}.png`});
  await ctx.close();
}
await site.close();
