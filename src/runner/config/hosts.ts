/** Host names, as people write them where they allow downloads. */
import { isIP } from 'node:net';
import { z } from 'zod';

const expected = 'a host name such as cdn.example.com, or *.example.com for every name below it';

/** A text such as `cdn.example.com`, read as URLs spell it; a port stays where it is not that of https. */
export const host = z.string(expected).transform((text, context) => {
  const found = readHost(text);
  if (found !== undefined) return found;
  context.addIssue({ code: 'custom', message: expected });
  return z.NEVER;
});

function readHost(text: string): string | undefined {
  const [, below = '', name = ''] = /^(\*\.)?([^\s*/\\?#@:[\]]+(?::\d+)?)$/.exec(text.trim()) ?? [];
  const address = `https://${name}`;
  if (name === '' || !URL.canParse(address)) return undefined;
  const { host: spelled, hostname } = new URL(address);
  if (isIP(hostname) !== 0 || (below !== '' && !hostname.includes('.'))) return undefined;
  return below + spelled;
}
