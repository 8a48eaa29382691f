/** The names of the service: what is answered without a key is answered under these alone, so that no page reads it by DNS rebinding. */
import { isIP } from 'node:net';
import { type HttpResponse, refusal } from '../api/http-response.ts';

export class KnownNames {
  readonly #names: readonly string[];
  readonly #certified: () => readonly string[];

  /**
   * As in addresses; `*.example.com` is any one name before that. Those of this machine's loopback are known anyway.
   * `certified`: those of the certificate, which may be renewed.
   */
  constructor(names: readonly string[], certified: () => readonly string[] = () => []) {
    this.#names = ['localhost', ...names];
    this.#certified = certified;
  }

  /** `host`: the header of a request. An address is known: no other site can be called by one. So is none: browsers send one. */
  has(host: string | undefined): boolean {
    const name = nameIn(host ?? '');
    if (name === '' || isIP(name) !== 0 || name.endsWith('.localhost')) return true;
    const known = new Set([...this.#names, ...this.#certified()].map(canonical));
    return known.has(name) || known.has(name.replace(/^[^.]+/, '*'));
  }
}

export function unknownName(host: string | undefined): HttpResponse {
  const name = JSON.stringify(nameIn(host ?? '').slice(0, 253));
  const text = `this service is not known as ${name}: ask for it by its address, or add the name to \`hosts\` in its service.yaml`;
  return refusal(421, text);
}

/** Of `localhost:4747`, `[::1]:4747` or `render.example.`. */
function nameIn(host: string): string {
  const [, inBrackets, name = ''] = /^(?:\[([^\]]*)\]|([^:]*))/.exec(host) ?? [];
  return canonical(inBrackets ?? name);
}

function canonical(name: string): string {
  return name.toLowerCase().replace(/\.$/, '');
}
