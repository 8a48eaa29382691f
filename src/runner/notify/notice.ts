/** What targets are sent, and how it reads. */
import type { EndingKind } from '../core/ending.ts';
import type { NoticeEvent } from '../core/notices.ts';
import type { SceneCounts } from '../core/scene.ts';

export interface Notice {
  event: NoticeEvent;
  /** ISO, UTC. */
  at: string;
  /** One sentence. */
  text: string;
  /** The manifests, as people read their paths. */
  manifest: string[];
  outputDir: string;
  /** Attempts of this run that failed so far. */
  failed: number;
  /** Of an end: how, with which exit code, and where the batch stands. */
  ending?: EndingKind;
  exitCode?: number;
  counts?: SceneCounts;
  /** The last lines of the run. */
  log: string[];
}

/** For people, in a chat. */
export function noticeText({ event, text, manifest, counts }: Notice): string {
  const head = `nightrender, ${manifest.join(', ')}: ${heads[event]}`;
  const isKnown = counts !== undefined && Object.values(counts).some((count) => count > 0);
  const reached = !isKnown
    ? ''
    : `\n${counts.saved} saved, ${counts.failed} failed, ${counts.waiting + counts.active} left`;
  return `${head}\n${text}${reached}`;
}

const heads: Record<NoticeEvent, string> = {
  start: 'started',
  finish: 'ended',
  halt: 'stopped for trouble',
  failures: 'many failures',
  stall: 'stalled',
};
