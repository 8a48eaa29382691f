/** `nightrender watch`: shows a batch in the browser. */
import { randomInt } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { resolve } from 'node:path';
import { watchedBatch } from '../batch/watched-batch.ts';
import type { Batch } from '../batch/batch.ts';
import type { OpenRecord } from '../batch/record.ts';
import { shownPath } from '../batch/refusal.ts';
import { builtPage } from '../lib/http/http-response.ts';
import { readTls, type TlsFiles, TlsProblem } from '../lib/http/tls-files.ts';
import { isLoopback } from '../lib/net/addresses.ts';
import { ConfigError } from '../lib/yaml/problem.ts';
import { type Passwords, SignIn } from '../runner/watch/sign-in.ts';
import { startWatchServer } from '../runner/watch/start-watch-server.ts';
import { writeError, writeOut, writeJsonLine } from '../terminal/terminal.ts';
import { escapeControls } from '../terminal/fit-text.ts';
import { commonExits, type LoadedCommand, oneText, textOption, wholeNumber } from './command.ts';
import { untilSignal } from './signals.ts';
import { textsOf } from './scene-options.ts';
import { onBatch } from './reply.ts';

export const watchCommand: LoadedCommand = {
  purpose: `Serves the gallery of a batch until SIGINT or SIGTERM, live: progress, throughput, failures, and the results as they arrive. Works before, during and after a run, and needs no key of the service. The link that it prints, or a password, lets a browser keep stars and other marks with the batch; anyone else with an account on this machine can only look.`,
  shared: ['output', 'json'],
  options: {
    port: { requiresArg: true, default: 4748, describe: 'port; 0 for a free one' },
    host: {
      ...textOption,
      default: '127.0.0.1',
      describe:
        'address to listen on, such as 0.0.0.0 for a phone; any but loopback asks for the password and needs TLS',
    },
    'password-file': {
      ...textOption,
      describe: 'file with the password; by default one is made for this start',
    },
    'view-password-file': {
      ...textOption,
      describe: 'file with a second password, for people who may look and star, and nothing else',
    },
    name: { ...textOption, describe: 'host name of this machine for browsers; may be given several times' },
    cert: { ...textOption, describe: 'file with the certificate (PEM), for HTTPS' },
    key: { ...textOption, describe: 'file with its private key (PEM)' },
    insecure: {
      type: 'boolean',
      describe: 'allows plain HTTP to other machines: the password and pictures can be read on the way',
    },
  },
  examples: [
    ['$0 watch pipeline.yaml', 'then open the link that it prints'],
    ['ssh -L 4748:127.0.0.1:4748 me@attic', 'opens the same address on another machine'],
    ['$0 watch pipeline.yaml --host 0.0.0.0 --insecure', 'for a phone in a network that you trust'],
    ['$0 watch pipeline.yaml --port 0 --json', 'for a script: a free port, printed as JSON'],
  ],
  exits: {
    ...commonExits,
    complete: 'stopped by SIGINT or SIGTERM',
    'wrong-use': 'wrong use or configuration, or the port is in use',
  },
  work: (argv) =>
    onBatch(argv, (batch, json) => batch.onRecord((record) => watch(batch, record, argv, json)), {
      isReading: true,
    }),
};

const withoutScript = 'This page needs JavaScript. In a terminal, use <code>nightrender status</code>.';

async function watch(
  { dir, arguments: others, edges }: Batch,
  record: OpenRecord,
  argv: Record<string, unknown>,
  json: boolean,
): Promise<void> {
  const port = wholeNumber(argv, 'port', 0, 65_535);
  const { host, tls, names } = whereToServe(argv);
  const { passwords, isMade } = passwordsOf(argv);
  const stop = new AbortController();
  const watched = { dir, record, others, edges };
  const batch = watchedBatch(watched, stop.signal);
  const { state } = await batch.read();
  const server = await startWatchServer({
    batch,
    page: builtPage('gallery', withoutScript),
    access: {
      host,
      names,
      tls,
      signIn: new SignIn(passwords, `${hostname()} ${host} ${port} ${dir}`),
      isPrivate: !isLoopback(host) || !isMade,
    },
    port,
    onProblem: printWatchFailure,
  });
  const url = reachableUrl(server.url, names[0] ?? hostname());
  const link = isMade ? `${url}#password=${passwords.owner}` : undefined;
  const stopped = untilSignal();
  const hasBatch = state.run.kind !== 'none';
  printWatching({ url, link, dir, isLocal: isLoopback(host), hasBatch }, json);
  await stopped;
  stop.abort();
  await server.close();
}

interface Serving {
  host: string;
  tls: TlsFiles | undefined;
  names: string[];
}

/** Throws `ConfigError` if the page would be sent to other machines in the clear without consent. */
function whereToServe(argv: Record<string, unknown>): Serving {
  const host = oneText(argv, 'host') ?? '127.0.0.1';
  const [cert, key] = [oneText(argv, 'cert'), oneText(argv, 'key')];
  if ((cert === undefined) !== (key === undefined))
    throw problem(cert === undefined ? '--key' : '--cert', 'HTTPS needs both: --cert and --key');
  const tls =
    cert === undefined || key === undefined ? undefined : { cert: resolve(cert), key: resolve(key) };
  if (tls !== undefined) assertUsable(tls);
  if (!isLoopback(host) && tls === undefined && argv['insecure'] !== true)
    throw problem(
      '--host',
      `${host} is open to other machines, and anybody on the way could read the password and the pictures; give --cert and --key, or --insecure in a network that you trust`,
    );
  const given = textsOf(argv, 'name');
  const wrong = given.find((name) => !/^[a-z0-9*]([a-z0-9.-]*[a-z0-9])?$/i.test(name));
  if (wrong !== undefined)
    throw problem('--name', `${JSON.stringify(wrong)} is given; expected a host name such as render.lan`);
  const own = isLoopback(host) ? [] : [hostname(), `${hostname()}.local`, host];
  return { host, tls, names: [...given, ...own] };
}

function assertUsable(tls: TlsFiles): void {
  try {
    readTls(tls, Date.now());
  } catch (error) {
    if (error instanceof TlsProblem)
      throw problem(`--${error.field}`, `${tls[error.field]}: expected ${error.message}`);
    throw error;
  }
}

/** A password that was made is valid until the page stops. */
function passwordsOf(argv: Record<string, unknown>): { passwords: Passwords; isMade: boolean } {
  const given = passwordIn(argv, 'password-file');
  const viewer = passwordIn(argv, 'view-password-file');
  if (given !== undefined && given === viewer)
    throw problem('--view-password-file', 'it has the same password as --password-file; expected another');
  return { passwords: { owner: given ?? madePassword(), viewer }, isMade: given === undefined };
}

const minPasswordLength = 8;

function passwordIn(argv: Record<string, unknown>, name: string): string | undefined {
  const path = oneText(argv, name);
  if (path === undefined) return undefined;
  const password = readPassword(path, `--${name}`).trim();
  if (/[\p{Cc}\uFFFD]/u.test(password))
    throw problem(
      `--${name}`,
      `${path} has several lines or characters that nobody can type; expected one line of text`,
    );
  if (password.length >= minPasswordLength) return password;
  throw problem(
    `--${name}`,
    `${path} has a password of ${password.length} characters; expected ${minPasswordLength} or more`,
  );
}

function readPassword(path: string, where: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw problem(where, `${path} cannot be read (${(error as NodeJS.ErrnoException).code})`);
  }
}

/** Letters and digits that nobody confuses, to be typed on a phone: 80 bits. */
const letters = 'abcdefghjkmnpqrstuvwxyz23456789';

function madePassword(): string {
  const group = (): string => Array.from({ length: 4 }, () => letters[randomInt(letters.length)]).join('');
  return Array.from({ length: 4 }, group).join('-');
}

function problem(where: string, text: string): ConfigError {
  return new ConfigError([{ where, text }]);
}

/** Returns an address that a browser can open: 0.0.0.0 stands for every address of this machine. */
function reachableUrl(url: string, name: string): string {
  return url.replace(/\/\/(0\.0\.0\.0|\[::\]):(\d+)\/$/, `//${name}:$2/`);
}

interface Watching {
  url: string;
  /** Address that signs in; undefined if the password is in a file. */
  link: string | undefined;
  dir: string;
  isLocal: boolean;
  hasBatch: boolean;
}

function printWatching({ url, link, dir, isLocal, hasBatch }: Watching, json: boolean): void {
  if (json) return writeJsonLine('watching', { url, dir, ...(link !== undefined && { link }) });
  const waits = hasBatch ? '' : ' there is no batch yet, and the page waits for one.';
  writeOut(`Watch ${shownPath(dir)}${isLocal ? ' (on this machine only)' : ''}:${waits}`);
  writeOut(`  ${link ?? url}`);
  writeOut(
    link === undefined
      ? 'Sign in with the password to keep stars with the batch.'
      : 'Opened by this link, the page keeps stars with the batch. The link ends with this page.',
  );
  writeOut('Ctrl-C stops the page, not the run.');
}

function printWatchFailure(text: string): void {
  writeError(`watch: ${escapeControls(text)}`);
}
