/** A second URL of the hostile service. The driver controls the service through it, and redirects lead to it. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ServiceReport, TurnedAway } from './service-report.ts';
import { sendJson } from '../faults/answers.ts';

export interface Controlled {
  report: () => Omit<ServiceReport, 'strays' | 'strayKeys'>;
  age: () => void;
  close: (door: string) => void;
  open: () => TurnedAway;
  refuse: (ms: number) => void;
}

interface Control {
  url: string;
  /** The same URL with another host name. */
  elsewhere: string;
}

export async function startControl(controlled: Controlled): Promise<Control> {
  const strays = { strays: 0, strayKeys: 0 };
  const words: Record<string, (word: string) => unknown> = {
    report: () => ({ ...controlled.report(), ...strays }),
    age: () => controlled.age(),
    close: (door) => controlled.close(door),
    open: () => controlled.open(),
    refuse: (ms) => controlled.refuse(Number(ms)),
  };
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://control');
    const said = words[pathname.slice(1)];
    if (said !== undefined) return sendJson(response, said(searchParams.get('word') ?? '') ?? {});
    strays.strays += 1;
    if (request.headers.authorization !== undefined) strays.strayKeys += 1;
    sendJson(response, { error: 'nobody was to come here' }, 404);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, elsewhere: `http://localhost:${port}` };
}
