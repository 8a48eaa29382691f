/**
 * A chain of two batches in fake worlds. The second reads its list from the checkpoint of the first, by the
 * code of stages.
 */
import { createHash } from 'node:crypto';
import { StagePictures } from '../../../../src/runner/list/stage-pictures.ts';
import { ByteSemaphore } from '../../../../src/lib/limits.ts';
import { SendingFiles } from '../../../../src/runner/client/sending-files.ts';
import { compileInput } from '../../../../src/runner/config/input-template.ts';
import { filesIn, withoutPaths } from '../../../../src/runner/core/file-text.ts';
import { fingerprintOf, type ListedScene } from '../../../../src/runner/core/scene.ts';
import type { ManifestScenes } from '../../../../src/runner/pipeline/ports.ts';
import type { JsonObject } from '../../../../src/lib/text/json.ts';
import { endpoint, unstopped, World } from '../../../fakes/world.ts';

const place = 's3://first/';

const input = compileInput(
  { scene: '{{ scene }} of {{ sha256 }}', image: '{{ picture | file_base64 }}' },
  (_, text) => {
    throw new Error(text);
  },
  {
    describe: () => {
      throw new Error('only what is on record is sent');
    },
    maxBytes: 1_000_000,
  },
);

export class Chain {
  readonly first = new World();
  readonly second = new World();

  constructor() {
    const { service } = this.second;
    const plain = {
      submit: service.submit.bind(service),
      status: service.status.bind(service),
      copyResult: service.copyResult.bind(service),
      cancel: service.cancel.bind(service),
      health: service.health.bind(service),
    };
    const files = new SendingFiles('/', new ByteSemaphore(1_000_000), async (address) => {
      const content = this.first.images.files.get(address.slice(place.length));
      return content === undefined ? undefined : Buffer.from(content);
    });
    const sending = files.around(plain);
    service.submit = (to, scene, signal = unstopped, key?) => sending.submit(to, scene, signal, key);
    const run = this.second.run.bind(this.second);
    this.second.run = async (options) => run({ ...options, manifest: await this.list() });
  }

  /** Returns the pictures that the first batch has now. Each run of the second batch reads them. */
  async list(): Promise<ManifestScenes> {
    const batch = { manifest: [], endpoint, columns: ['id', 'scene'] };
    const paths = { pathOf: (file: string) => place + file, passedOn: (path: string) => path };
    const stage = { from: '', keep: undefined, ids: undefined, best: undefined };
    const pictures = new StagePictures(this.first.db, batch, paths, stage, () => '');
    const scenes = [...(await pictures.choose([]))].map(({ id, row, picture }, i): ListedScene => {
      const columns: JsonObject = {
        ...row.columns,
        picture: picture?.path ?? null,
        sha256: picture?.sha256 ?? null,
      };
      const rendered = input.render(columns, picture);
      return {
        id,
        fingerprint: fingerprintOf(withoutPaths(rendered)),
        input: JSON.stringify(rendered),
        columns: JSON.stringify(columns),
        position: i + 1,
        source: `first: scene ${id}`,
      };
    });
    return { digest: JSON.stringify(scenes), allowsFewer: true, scenes: () => scenes, badRows: () => [] };
  }

  /** Runs the second batch to its end. Does nothing if the first batch has no picture yet. */
  async runSecond(): Promise<void> {
    const manifest = await this.list();
    const isEmpty = [...manifest.scenes()].length === 0;
    if (!isEmpty) await this.second.run({ manifest, afterMs: 1_000 });
  }

  /**
   * Returns a sentence for each picture that was not made from the recorded one, and for each that was paid
   * for twice.
   */
  wrong(): string[] {
    const onRecord = this.first.rows<{ id: string; sha256: string }>(
      `SELECT id, sha256 FROM scenes s JOIN attempts a USING (scene) JOIN pictures USING (attempt)
       WHERE s.state = 'saved' AND pictures.number = 1`,
    );
    const made = this.second.rows<{ id: string; sent: string; job: string }>(
      `SELECT id, s.input AS sent, job_id AS job FROM scenes s JOIN attempts a USING (scene)
       WHERE s.state = 'saved' AND a.state = 'saved' ORDER BY attempt`,
    );
    const latest = new Map(made.map((one) => [one.id, one]));
    const stale = onRecord.flatMap(({ id, sha256 }) => {
      const { sent, job } = latest.get(id) ?? { sent: '{}', job: '' };
      const [file] = filesIn(JSON.parse(sent) as JsonObject);
      const shas = [file?.sha256, this.#sentBy(job)];
      return shas.every((sha) => sha === sha256) ? [] : [`${id} is made from ${shas.join()}, not ${sha256}`];
    });
    return [...stale, ...this.#paidTwice()];
  }

  #sentBy(jobId: string): string {
    const image = this.second.service.jobs.find(({ id }) => id === jobId)?.input['image'];
    return typeof image === 'string'
      ? createHash('sha256').update(Buffer.from(image, 'base64')).digest('hex')
      : 'nothing';
  }

  #paidTwice(): string[] {
    const declared = this.second.rows<{ id: string }>(
      "SELECT id FROM attempts a JOIN scenes USING (scene) WHERE a.state = 'unanswered'",
    ).length;
    const { jobs } = this.second.service;
    const different = new Set(jobs.map(({ id, scene }) => `${scene} ${this.#sentBy(id)}`)).size;
    return jobs.length <= different + declared
      ? []
      : [`${jobs.length} jobs for ${different} pictures, ${declared} of them declared unanswered`];
  }
}
