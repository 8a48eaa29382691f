/** Runs several `nightrender serve` on one store, each as if on its own machine. */
import { folderWith, withKey } from './cli.ts';
import { Served } from './served.ts';

let schemas = 0;

export class Processes {
  readonly env: Record<string, string>;
  /** Schema of the database that holds the store. */
  readonly schema = `service_${++schemas}`;
  readonly all: Served[] = [];
  readonly #settings: string;

  constructor(database: string, endpoint: string, more = '', env: Record<string, string> = {}) {
    this.env = { ...withKey.env, ...env, DATABASE_URL: `${database}?schema=${this.schema}` };
    this.#settings = `store: \${DATABASE_URL}\n${more}endpoints:\n  - {id: scene-renderer, name: Farm, ${endpoint}}\n`;
  }

  async start({ more = '', env = {}, files = {}, databasePort, port = 0 }: OwnWays = {}): Promise<Served> {
    const { DATABASE_URL = '' } = this.env;
    const served = await Served.start(
      folderWith({ ...files, 'service.yaml': more + this.#settings }),
      ['service.yaml'],
      {
        ...this.env,
        ...env,
        ...(databasePort !== undefined && {
          DATABASE_URL: DATABASE_URL.replace(/:\d+\//, `:${databasePort}/`),
        }),
      },
      port,
    );
    this.all.push(served);
    return served;
  }

  /** Returns the process that reports that it leads. */
  leader(): Served {
    const leads = /service: leads$/;
    const found = this.all.filter(
      ({ program }) => program.child.exitCode === null && leads.test(program.stderr.trim()),
    );
    if (found.length !== 1) throw new Error(`${found.length} lead`);
    return found[0] as Served;
  }
}

/** Settings of one process. */
interface OwnWays {
  /** Further lines of its service.yaml. */
  more?: string;
  env?: Record<string, string>;
  /** Files beside its service.yaml. */
  files?: Record<string, string>;
  /** Port at which it reaches the database, if it differs from the others. */
  databasePort?: number;
  port?: number;
}
