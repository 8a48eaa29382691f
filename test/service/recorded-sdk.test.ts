/**
 * Promise: recorded requests of the public Python SDK, as worker and as client, get the same answers as when
 * they were recorded.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { endpointSettings } from '../../src/service/model/endpoint-settings.ts';
import { type Exchange } from '../foreign/recorder.ts';
import { root } from '../e2e/cli.ts';
import { addKey } from './pull-harness.ts';
import { key, openService } from './service-harness.ts';

const exchanges = JSON.parse(readFileSync(join(root, 'test/fixtures/python-sdk.json'), 'utf8')) as Exchange[];

it('answers the recorded requests of worker and client', async () => {
  const endpoints = [endpointSettings({ id: 'farm', retries: 1, workers: 0 }, { remote: true })];
  const { url, dataDir } = await openService({ endpoints });
  const words: [name: string, text: string][] = [
    ['CLIENT-KEY', key],
    ['WORKER-KEY', addKey(dataDir, 'worker')],
  ];
  const said = (text: string) => words.reduce((all, [name, word]) => all.replaceAll(name, word), text);
  for (const { method, path, headers, body, status, answer } of exchanges) {
    const reply = await fetch(url + said(path), {
      method,
      headers: Object.entries(headers).map(([name, text]): [string, string] => [name, said(text)]),
      ...(method === 'POST' && { body: said(body) }),
    });
    const text = await reply.text();
    const [, name] = /"id":"(JOB-\d+)"/.exec(answer) ?? [];
    const [, id] = /"id":"([^"]+)"/.exec(text) ?? [];
    if (name !== undefined && id !== undefined && !words.some(([known]) => known === name))
      words.push([name, id]);
    const shown = text.replace(/("(?:delayTime|executionTime)"):\d+/g, '$1:0');
    expect([`${method} ${path}`, reply.status, shown]).toEqual([`${method} ${path}`, status, said(answer)]);
  }
  expect(exchanges.length).toBeGreaterThan(20);
});
