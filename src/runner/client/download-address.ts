/** Which addresses of pictures are asked for at all. */
import { isIP } from 'node:net';
import type { Failure } from '../core/failure.ts';

/**
 * The address as a URL, or why nothing is downloaded from it. `hosts` are host names in lower case, with `*.` before
 * one for all that are below it, and with a port behind where it is not 443.
 */
export function readDownloadAddress(text: string, hosts: readonly string[]): URL | Failure {
  if (!URL.canParse(text)) return refused('what the output names as the address of a picture is no URL');
  const url = new URL(text);
  const place = shownAddress(url);
  if (url.protocol !== 'https:') return refused(`the picture at ${place} is not offered over https`);
  if (url.username !== '' || url.password !== '')
    return refused(`the address of the picture at ${place} holds a user name or a password`);
  if (isIP(url.hostname.replaceAll(/[[\]]/g, '')) !== 0)
    return refused(`the picture at ${place} is at a bare IP address, not at a host with a name`);
  if (hosts.length === 0) return notAllowed(url);
  if (!hosts.some((entry) => isListed(url, entry)))
    return refused(`the picture at ${place} is at ${url.host}, which \`output.hosts\` does not list`);
  return url;
}

/** Where a picture is, without the query, which may hold a signature, and no longer than a line. */
export function shownAddress({ origin, protocol, host, pathname }: URL): string {
  const address = `${origin === 'null' ? `${protocol}//${host}` : origin}${pathname}`;
  return address.length > longestShown ? `${address.slice(0, longestShown - 1)}…` : address;
}

const longestShown = 120;

function isListed({ hostname, port }: URL, entry: string): boolean {
  const [name = '', entryPort = '443'] = entry.split(':');
  if (entryPort !== (port || '443')) return false;
  if (!name.startsWith('*.')) return hostname === name;
  const ending = name.slice(1);
  return hostname.endsWith(ending) && hostname.length > ending.length;
}

function notAllowed({ host }: URL): Failure {
  const text = `the output names pictures by address, at ${host}, and \`output.hosts\` is empty; put ${host} into it and start again within 30 minutes, while the service still has the results`;
  return { kind: 'urls-not-allowed', text };
}

function refused(text: string): Failure {
  return { kind: 'url-refused', text };
}
