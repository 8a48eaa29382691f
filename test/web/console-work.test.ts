/** Promise: the console submits, shows, cancels and retries jobs, and adds and revokes keys. */
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { noBrowser, openBrowser } from './browser.ts';
import { endpointForm, endpointView, failedWebhook, jobView, keyView } from './console-things.ts';
import { enter, labelOfFocus, field, expectProblem } from './console-visit.ts';
import { startFakeConsole } from './fake-console.ts';

const picture =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAAFklEQVR4nGNkYGBgYGBgYmBgYGBgAAAAVgAH8P0V9wAAAABJRU5ErkJggg==';

let browser: Browser;

beforeAll(async () => {
  if (noBrowser === undefined) browser = await openBrowser();
});

afterAll(() => noBrowser ?? browser.close());

describe.skipIf(noBrowser !== undefined)('the console in a browser (skipped if there is no chromium)', () => {
  it('submits a job in fields or as JSON, follows it and shows its picture', async () => {
    const service = await startFakeConsole();
    service.overview.endpoints.push(endpointView());
    const { page, troubles } = await enter(browser, service, '#/endpoints/painter');
    await page.getByRole('button', { name: 'Submit job' }).click();
    await page.getByText('Describe the picture to render.').waitFor();
    await field(page, 'Scene').fill('Two hills');
    await field(page, 'Seed').fill('7');
    await page.getByRole('button', { name: 'JSON' }).click();
    const json = field(page, 'Input');
    expect(JSON.parse(await json.inputValue())).toEqual({ scene: 'Two hills', seed: 7 });
    await json.fill('{"scene": "Two hills", "seed": 7,');
    await page.getByRole('button', { name: 'Submit job' }).click();
    await page.getByText('Not valid JSON').waitFor();
    await json.fill('{"scene": "Two hills", "seed": 8, "samples": 4}');
    await page.getByRole('button', { name: 'Scene' }).click();
    expect(await field(page, 'Seed').inputValue()).toBe('8');
    await page.getByRole('button', { name: 'Submit job' }).click();
    const followed = page.getByRole('region', { name: 'The job you submitted' });
    await followed.getByText('In the queue').waitFor();
    expect(service.sent.get('POST endpoints/painter/jobs')).toEqual({
      input: { scene: 'Two hills', seed: 8, samples: 4 },
    });
    Object.assign(service.jobs[0] ?? {}, { status: 'COMPLETED', endedAt: Date.now(), pictures: [picture] });
    await followed.getByRole('img', { name: 'Two hills' }).waitFor();
    await expect
      .poll(() => page.evaluate<number>("document.querySelector('.followed img').naturalWidth"))
      .toBe(2);
    expect(troubles()).toEqual([]);
  });

  it('submits a job with timeouts, a priority and a webhook, and shows errors beside their fields', async () => {
    const service = await startFakeConsole();
    service.overview.endpoints.push(endpointView());
    const { page, troubles } = await enter(browser, service, '#/endpoints/painter');
    await field(page, 'Scene').fill('Two hills');
    await page.getByText('Time-outs, priority, webhook').click();
    expect(await field(page, 'Execution time-out').getAttribute('placeholder')).toBe('10m');
    await field(page, 'Execution time-out').fill('soon');
    await field(page, 'Webhook').fill('ftp://example.com');
    await page.getByText('Time-outs, priority, webhook').click();
    await page.getByRole('button', { name: 'Submit job' }).click();
    await expect.poll(() => labelOfFocus(page)).toBe('Execution time-out');
    await expectProblem(page, 'Execution time-out').toBe('“soon” is not a duration such as 30s, 10m or 2h.');
    await expectProblem(page, 'Webhook').toMatch(/^Expected a URL/);
    expect(service.jobs).toEqual([]);
    await field(page, 'Execution time-out').fill('90s');
    await field(page, 'Time to live').fill('1h 30m');
    await field(page, 'Webhook').fill('https://example.com/hook');
    await page.getByLabel('Low priority').check();
    await page.getByRole('button', { name: 'Submit job' }).click();
    await page.getByRole('region', { name: 'The job you submitted' }).waitFor();
    expect(service.sent.get('POST endpoints/painter/jobs')).toEqual({
      input: { scene: 'Two hills' },
      policy: { executionTimeout: 90_000, ttl: 5_400_000, lowPriority: true },
      webhook: 'https://example.com/hook',
    });
    expect(troubles()).toEqual([]);
  });

  it('cancels a job, retries a failed one, and shows what happens to its output', async () => {
    const service = await startFakeConsole();
    service.overview.endpoints.push(endpointView());
    const failed = jobView({
      id: 'job-1',
      status: 'FAILED',
      startedAt: Date.now(),
      endedAt: Date.now(),
      executionTime: 1_500,
      error: 'The worker died.',
      workerId: 'w1',
      log: ['out of memory'],
    });
    service.jobs.push(failed);
    const { page } = await enter(browser, service, '#/jobs');
    await page.getByRole('link', { name: /Failed.*A lighthouse.*took 1\.5 s.*worker w1/s }).click();
    await page.getByText('The worker died.').waitFor();
    await page.getByText('out of memory').waitFor();
    await page.getByText(/^Input and output are deleted at \d\d:\d\d, in (29|30) min/).waitFor();
    await page.getByRole('button', { name: 'Retry job' }).click();
    await page.getByText('In the queue').waitFor();
    await page.getByRole('button', { name: 'Cancel job' }).click();
    await page.getByText('Cancelled').waitFor();
    expect(await page.getByRole('button', { name: /(Cancel|Retry) job/ }).count()).toBe(0);
    service.jobs = [];
    await page.clock.runFor(30_000);
    await page.getByText('There is no such job. Jobs are deleted 30 min after they ended.').waitFor();
  });

  it('lists jobs by status, a page at a time', async () => {
    const service = await startFakeConsole();
    service.overview.endpoints.push(endpointView());
    service.jobs = Array.from({ length: 60 }, (_, i) =>
      jobView({ id: `job-${60 - i}`, summary: `scene ${60 - i}` }),
    );
    const { page } = await enter(browser, service, '#/endpoints/painter');
    await expect.poll(() => page.locator('.job').count()).toBe(50);
    await page.getByRole('button', { name: 'Older' }).click();
    await expect.poll(() => page.locator('.job').count()).toBe(10);
    expect(await page.locator('.job-summary').first().innerText()).toBe('scene 10');
    await page.getByRole('button', { name: 'Newest' }).click();
    await expect.poll(() => page.locator('.job').count()).toBe(50);
    await page.getByLabel('Status').selectOption('COMPLETED');
    await page.getByText('No matching jobs.').waitFor();
    await page.getByLabel('Status').selectOption('IN_QUEUE');
    await expect.poll(() => page.locator('.job').count()).toBe(50);
  });

  it('searches jobs, and cancels or retries all that match after a confirmation with their number', async () => {
    const service = await startFakeConsole();
    service.overview.endpoints.push(endpointView());
    const states = ['IN_QUEUE', 'IN_PROGRESS', 'FAILED', 'TIMED_OUT', 'COMPLETED'];
    service.jobs = Array.from({ length: 20 }, (_, i) =>
      jobView({ id: `job-${i}`, status: states[i % 5] ?? '', summary: `scene ${i < 10 ? 'fox' : 'owl'}` }),
    );
    const { page, troubles } = await enter(browser, service, '#/jobs');
    await page.getByRole('searchbox', { name: 'Search jobs' }).fill('fox');
    await page.clock.runFor(1_000);
    await expect.poll(() => page.locator('.job').count()).toBe(10);
    await page.getByRole('button', { name: 'Retry failed …' }).click();
    const question = page.getByRole('dialog', { name: 'Retry 4 failed jobs?' });
    await question.getByRole('button', { name: 'Retry them' }).click();
    await page.getByText('4 jobs back in the queue.').waitFor();
    await page.getByLabel('Status').selectOption('IN_QUEUE');
    await expect.poll(() => page.locator('.job').count()).toBe(6);
    expect(await page.getByRole('button', { name: 'Retry failed …' }).count()).toBe(0);
    await page.getByRole('button', { name: 'Cancel all …' }).click();
    await page.getByRole('dialog', { name: 'Cancel 6 open jobs?' }).waitFor();
    await page.getByRole('button', { name: 'Cancel them' }).click();
    await page.getByText('6 jobs cancelled.').waitFor();
    await page.getByText('No matching jobs.').waitFor();
    await page.getByRole('button', { name: 'Cancel all …' }).click();
    await page.getByText('There is no matching open job.').waitFor();
    expect(troubles()).toEqual([]);
  });

  it('lists webhooks that failed, and sends one or all of them again', async () => {
    const service = await startFakeConsole();
    service.overview.endpoints.push(endpointView());
    const { page, troubles } = await enter(browser, service, '#/jobs');
    const failed = page.getByRole('region', { name: 'Webhooks that failed' });
    await page.getByRole('region', { name: 'Jobs of all endpoints' }).waitFor();
    expect(await failed.count()).toBe(0);
    const waiting = failedWebhook({
      job: 'job-2',
      host: '<b>evil</b>',
      dueAt: Date.now() + 3_600_000,
      tries: 1,
    });
    const webhooks = [failedWebhook({ job: 'job-1' }), waiting];
    service.webhooks = { givenUp: 1, waiting: 1, webhooks };
    await failed.getByText('1 given up, 1 to be tried again.').waitFor();
    await failed.getByRole('heading', { name: '<b>evil</b>' }).waitFor();
    await failed.getByText(/it answered 500 · 9 tries/).waitFor();
    await failed.getByText(/^again in /).waitFor();
    await failed.getByRole('button', { name: 'Send the webhook of job job-1 again' }).click();
    await failed.getByText('waiting for its turn').waitFor();
    await failed.getByRole('button', { name: 'Send all again' }).click();
    await page.getByText('1 webhook will be sent again.').waitFor();
    await expect.poll(() => failed.count()).toBe(0);
    expect(troubles()).toEqual([]);
  });

  it('accepts only JSON for a worker of somebody else, and shows the results of jobs over time', async () => {
    const service = await startFakeConsole();
    service.overview.gpus = ['NVIDIA H200 (140 GB)', 'NVIDIA H200 (140 GB)'];
    service.overview.endpoints.push(endpointView(endpointForm({ command: ['node', 'worker.js'] })));
    const step = { at: 0, completed: 30, failed: 2, queue: 7, gpuMs: 90_000 };
    const delay = { p50: 1_500, p95: 9_000 };
    service.history = { since: 0, stepMs: 60_000, steps: [step], delay, execution: delay };
    const { page, troubles } = await enter(browser, service);
    await page.getByText('This machine has 2 × NVIDIA H200 (140 GB).').waitFor();
    await page.getByRole('img', { name: '30 jobs completed, 2 failed' }).waitFor();
    await page.getByRole('link', { name: 'Painter' }).click();
    await page.getByRole('img', { name: 'Up to 7 jobs in the queue' }).waitFor();
    await page.getByRole('img', { name: '90 worker seconds' }).waitFor();
    expect(await field(page, 'Scene').count()).toBe(0);
    await field(page, 'Input').fill('{"words": 3}');
    await page.getByRole('button', { name: 'Submit job' }).click();
    await page.getByRole('region', { name: 'The job you submitted' }).waitFor();
    expect(service.sent.get('POST endpoints/painter/jobs')).toEqual({ input: { words: 3 } });
    expect(troubles()).toEqual([]);
  });

  it('adds a key that is shown once, shows how much each was used, and revokes one after a confirmation', async () => {
    const service = await startFakeConsole();
    service.overview.endpoints.push(endpointView());
    const usage = [
      { endpointId: 'painter', jobs: 1_200, gpuMs: 90_500 },
      { endpointId: 'other', jobs: 34, gpuMs: 1_000 },
    ];
    const given = keyView({ id: 'given-1', name: 'given-1', origin: 'given', createdAt: null });
    const terms = { quotaMs: 36_000_000, todayMs: 5_400_000, price: 0.01 };
    service.keys.push(keyView({ id: 'k1', name: 'laptop', usage, ...terms }), given);
    const at = '2026-11-28T18:03:35.123Z';
    const wrong = { at, event: 'wrong-key' as const, key: 'old', from: '198.51.100.7', what: null };
    const change = { at, event: 'change' as const, key: 'laptop', from: '::1', what: 'POST endpoints' };
    const told = { ...change, endpoint: 'farm' };
    service.audit.push(told, wrong);
    const { page, troubles } = await enter(browser, service, '#/keys');
    await page.getByText('Sat 28 Nov, 18:03 · key laptop · from ::1 · endpoint farm').waitFor();
    await page.getByText('Sat 28 Nov, 18:03 · key old · from 198.51.100.7').waitFor();
    const article = page.getByRole('article').filter({ hasText: 'given-1' });
    await article.getByText(/NIGHTRENDER_API_KEY/).waitFor();
    expect(await article.getByRole('button').count()).toBe(0);
    await page.getByText('1 h 30 min of 10 h used today').waitFor();
    await page.getByText('1,234 jobs, 91.5 worker seconds, 0.92 USD').click();
    await page.getByRole('row', { name: 'painter 1,200 90.5' }).waitFor();
    await page.getByRole('button', { name: 'Add key' }).click();
    await page.getByText('Give a name.').waitFor();
    await expect.poll(() => labelOfFocus(page)).toBe('Name');
    await field(page, 'Name').fill('box two');
    await page.getByText('Quota, price and limits').click();
    await field(page, 'Quota').fill('10h');
    await page.getByRole('checkbox', { name: 'its own jobs only' }).check();
    await page.getByLabel('Kind').selectOption('worker');
    await page.getByLabel('only these').check();
    await page.getByRole('button', { name: 'Add key' }).click();
    await page.getByText('Choose at least one endpoint.').waitFor();
    await page.getByRole('checkbox', { name: 'Painter' }).check();
    await page.getByRole('button', { name: 'Add key' }).click();
    const dialog = page.getByRole('dialog', { name: 'Key “box two” was created' });
    await dialog.getByText('nr_secret_of_key-7').waitFor();
    expect(service.sent.get('POST keys')).toEqual({
      name: 'box two',
      kind: 'worker',
      endpoints: ['painter'],
      quota: '',
      price: '',
      ownJobs: false,
      readOnly: false,
      expires: '',
      requestsPerSecond: '',
      maxQueued: '',
      maxQueuedBytes: '',
      maxHeld: '',
    });
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await dialog.getByRole('button', { name: 'Copy: The new key' }).click();
    await dialog.getByText('Copied.').waitFor();
    expect(await page.evaluate<string>('navigator.clipboard.readText()')).toBe('nr_secret_of_key-7');
    await dialog.getByRole('button', { name: 'I have copied it' }).click();
    await dialog.waitFor({ state: 'detached' });
    expect(await page.content()).not.toContain('nr_secret');

    await field(page, 'Name').fill('customer');
    await page.getByRole('checkbox', { name: 'its own jobs only' }).check();
    await page.getByRole('checkbox', { name: 'read-only' }).check();
    await field(page, 'Expires after').fill('90d');
    await page.getByRole('button', { name: 'Add key' }).click();
    await page.getByRole('button', { name: 'I have copied it' }).click();
    await page.getByText(/client · all endpoints · its own jobs only/).waitFor();
    expect(service.sent.get('POST keys')).toMatchObject({
      name: 'customer',
      ownJobs: true,
      readOnly: true,
      expires: '90d',
    });

    await page.getByRole('button', { name: 'Rotate key laptop' }).click();
    const question = page.getByRole('dialog', { name: 'Rotate key “laptop”?' });
    await question.getByLabel('Its present text').selectOption('is valid for another week');
    await question.getByRole('button', { name: 'Make a new text' }).click();
    await page.getByRole('dialog', { name: 'Key “laptop” has a new text' }).getByText('nr_rotated').waitFor();
    await page.getByRole('button', { name: 'I have copied it' }).click();
    expect(service.sent.get('POST keys/k1/rotate')).toEqual({ overlap: '7d', expires: '' });

    await page.getByRole('button', { name: 'Revoke key laptop' }).click();
    await page.getByRole('dialog', { name: 'Revoke key “laptop”?' }).waitFor();
    await page.getByRole('button', { name: 'Revoke it' }).click();
    await page.getByText('Key “laptop” is revoked.').waitFor();
    await page.getByText('revoked', { exact: true }).waitFor();
    expect(troubles()).toEqual([]);
  });
});
