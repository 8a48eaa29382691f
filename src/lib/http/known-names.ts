/** Host names under which a server answers browsers, as protection against DNS rebinding by other sites. */
import { isIP } from 'node:net';

export class KnownNames {
  readonly #names: readonly string[];
  readonly #certified: () => readonly string[];
  readonly #isKnownAddress: (address: string) => boolean;

  /**
   * `names` are written as in URLs; `*.example.com` stands for any one label before `.example.com`. `localhost` is always known.
   * `certified` returns the names of the certificate, which may be renewed. By default every address is known, because no other
   * site can be called by an address.
   */
  constructor(
    names: readonly string[],
    {
      certified = () => [],
      isKnownAddress = () => true,
    }: { certified?: () => readonly string[]; isKnownAddress?: (address: string) => boolean } = {},
  ) {
    this.#names = ['localhost', ...names];
    this.#certified = certified;
    this.#isKnownAddress = isKnownAddress;
  }

  /** True if requests with this `Host` header may be answered. A missing header is accepted, because browsers always send one. */
  has(host: string | undefined): boolean {
    const name = nameIn(host ?? '');
    if (isIP(name) !== 0) return this.#isKnownAddress(name);
    if (name === '' || name.endsWith('.localhost')) return true;
    const known = new Set([...this.#names, ...this.#certified()].map(canonical));
    return known.has(name) || known.has(name.replace(/^[^.]+/, '*'));
  }
}

/** Returns the lower-case name in a `Host` header, such as `localhost:4747`, `[::1]:4747` or `render.example.`. */
export function nameIn(host: string): string {
  const [, inBrackets, name = ''] = /^(?:\[([^\]]*)\]|([^:]*))/.exec(host) ?? [];
  return canonical(inBrackets ?? name);
}

function canonical(name: string): string {
  return name.toLowerCase().replace(/\.$/, '');
}
