/** Compares the records of a batch with those of the service that made its pictures. */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { Sqlite } from '../../src/lib/sqlite/database.ts';
import { expect } from 'vitest';
import { seed } from '../fakes/tier.ts';

interface SavedRow {
  file: string;
  sha256: string;
  job_id: string;
}

/**
 * Expects that every picture is the one that the service made for its job, and that the checkpoint accounts
 * for every job of the service.
 */
export function expectSameBooks(cwd: string, dataDir: string, sceneCount: number): void {
  const checkpoint = new Sqlite(join(cwd, 'out/checkpoint.sqlite'), { readonly: true });
  const service = new Sqlite(join(dataDir, 'service.sqlite'), { readonly: true });
  try {
    const saved = checkpoint
      .prepare<[], SavedRow>('SELECT file, sha256, job_id FROM pictures JOIN attempts USING (attempt)')
      .all();
    expect(saved, `seed ${seed}`).toHaveLength(sceneCount);
    const outputOf = service.prepare<[string], { output: string }>('SELECT output FROM job WHERE id = ?');
    for (const { file, sha256, job_id } of saved) {
      const [made] = JSON.parse(outputOf.get(job_id)?.output ?? '[]') as { rendered_image: string }[];
      const onDisk = readFileSync(join(cwd, 'out/images', file));
      expect(onDisk.equals(Buffer.from(made?.rendered_image ?? '', 'base64')), `${file}, seed ${seed}`).toBe(
        true,
      );
      expect(createHash('sha256').update(onDisk).digest('hex')).toBe(sha256);
    }
    expect(picturesIn(cwd)).toHaveLength(sceneCount);
    const jobs = service.prepare<[], { n: number }>('SELECT count(*) AS n FROM job').get()?.n ?? 0;
    const declared = attemptsThat("state = 'unanswered' OR failure_kind = 'quarantined'", cwd);
    expect(jobs, `seed ${seed}: jobs at the service`).toBeGreaterThanOrEqual(sceneCount);
    expect(jobs, `seed ${seed}: jobs at the service`).toBeLessThanOrEqual(sceneCount + declared);
  } finally {
    checkpoint.close();
    service.close();
  }
}

/** Returns the pictures with final names. */
export function picturesIn(cwd: string): string[] {
  const images = join(cwd, 'out/images');
  const files = existsSync(images) ? readdirSync(images, { recursive: true, encoding: 'utf8' }) : [];
  return files.filter((name) => name.endsWith('.png'));
}

/** Returns the number of attempts for which the SQL condition `are` holds. */
export function attemptsThat(are: string, cwd: string): number {
  const checkpoint = new Sqlite(join(cwd, 'out/checkpoint.sqlite'), { readonly: true });
  try {
    return (
      checkpoint.prepare<[], { n: number }>(`SELECT count(*) AS n FROM attempts WHERE ${are}`).get()?.n ?? 0
    );
  } finally {
    checkpoint.close();
  }
}
