/** The part above the gallery during a run: numbers, failures, and the latest pictures. */
import type { JSX } from 'preact';
import { useRef, useState } from 'preact/hooks';
import type { ArrivedScene, LiveFailure, LiveNumbers } from '../../runner/core/gallery-data.ts';
import {
  counted,
  countWords,
  durationWords,
  hourWords,
  moneyWords,
  rateUnit,
} from '../shared/number-words.ts';
import { Tile } from '../shared/facts.tsx';
import { useNow } from '../shared/hooks.ts';
import { PictureGrid } from '../shared/picture-grid.tsx';
import { scenePicture } from './scene-picture.ts';

interface Props {
  numbers: LiveNumbers;
  aheadMs: number;
  /** Newest first. */
  arrived: ArrivedScene[];
  onOpen(scene: ArrivedScene): void;
}

export function LiveStrip({ numbers, aheadMs, arrived, onOpen }: Props): JSX.Element {
  const { scenes, failures } = numbers;
  const total = scenes.waiting + scenes.active + scenes.saved + scenes.failed + scenes.invalid;
  return (
    <section class="card stack strip" aria-label="The run">
      <Progress scenes={scenes} total={total} />
      <Tiles numbers={numbers} aheadMs={aheadMs} total={total} />
      {failures.length > 0 && (
        <ul class="troubles" aria-label="What failed">
          {failures.map((failure) => (
            <FailureLine key={failure.kind} {...failure} />
          ))}
        </ul>
      )}
      {arrived.length > 0 && <Arrivals arrived={arrived} onOpen={onOpen} />}
    </section>
  );
}

function Progress({ scenes, total }: { scenes: LiveNumbers['scenes']; total: number }): JSX.Element {
  const shareOf = (count: number): number => (total === 0 ? 0 : (count / total) * 100);
  const percent = Math.floor(shareOf(scenes.saved));
  return (
    <div
      class="progress"
      role="progressbar"
      aria-label="scenes saved"
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={percent}
      aria-valuetext={`${countWords(scenes.saved)} of ${counted(total, 'scene')} saved`}
    >
      <div class="track">
        <span class="good" style={{ width: `${shareOf(scenes.saved)}%` }} />
        <span class="bad" style={{ width: `${shareOf(scenes.failed + scenes.invalid)}%` }} />
        <span class="calm" style={{ width: `${shareOf(scenes.active)}%` }} />
      </div>
      <span class="percent">{percent} %</span>
    </div>
  );
}

function Tiles({
  numbers,
  aheadMs,
  total,
}: Omit<Props, 'arrived' | 'onOpen'> & { total: number }): JSX.Element {
  const now = useNow(aheadMs);
  const { scenes, attempts, doubtful, perSecond, doneAt, lagMs, cost } = numbers;
  return (
    <dl class="tiles">
      <Tile name="saved" value={countWords(scenes.saved)} more={`of ${counted(total, 'scene')}`} />
      <Tile
        name="time left"
        value={doneAt === null ? '–' : leftWords(doneAt - now)}
        more={doneAt === null ? noLeftWords(scenes) : `done about ${hourWords(doneAt - aheadMs)}`}
      />
      <Tile name="pace" {...paceOf(perSecond)} more={perSecond === null ? 'not known' : 'recently'} />
      <Tile
        name="in flight"
        value={scenes.active === 0 ? '0' : <a href="#state=active">{countWords(scenes.active)}</a>}
        more={`${countWords(scenes.waiting)} waiting`}
      />
      <Tile
        name="failed"
        value={scenes.failed === 0 ? '0' : <a href="#view=failures">{countWords(scenes.failed)}</a>}
        more={scenes.invalid > 0 ? counted(scenes.invalid, 'invalid row') : undefined}
        tone={scenes.failed > 0 ? 'bad' : undefined}
      />
      {lagMs !== null && <Tile name="lag" value={durationWords(lagMs)} more="from completed to saved" />}
      {cost !== null && (
        <Tile
          name="cost"
          value={moneyWords(cost.spent, cost.currency)}
          more={cost.inFlight > 0 ? `up to ${moneyWords(cost.inFlight, cost.currency)} in flight` : 'so far'}
        />
      )}
      {doubtful > 0 && (
        <Tile
          name="in doubt"
          value={countWords(doubtful)}
          more={`of ${counted(attempts, 'submission')} may have been billed without a result`}
          tone="bad"
        />
      )}
    </dl>
  );
}

/** Seconds are left out, because they would flicker. */
function leftWords(ms: number): string {
  return ms < 60_000 ? '< 1 min' : durationWords(ms < 600_000 ? ms : Math.round(ms / 60_000) * 60_000);
}

function noLeftWords({ waiting, active }: LiveNumbers['scenes']): string {
  return waiting + active === 0 ? 'nothing left to do' : 'not known';
}

function paceOf(perSecond: number | null): { value: string; unit?: string } {
  if (perSecond === null) return { value: '–' };
  const { seconds, words } = rateUnit(perSecond);
  return { value: (perSecond * seconds).toFixed(1), unit: words };
}

/** A failure in short; the failures view has its full text, its scenes and the command. */
function FailureLine({ kind, attempts, scenes, lastText }: LiveFailure): JSX.Element {
  return (
    <li>
      <a href="#view=failures">
        <code>{kind}</code>
      </a>{' '}
      <small class={scenes > 0 ? 'bad' : ''}>
        {scenes > 0 ? `${counted(scenes, 'scene')} failed` : 'tried again'}
        {attempts > 0 && `, ${counted(attempts, 'attempt')}`}
      </small>{' '}
      <bdi class="soft" title={lastText}>
        {lastText}
      </bdi>
    </li>
  );
}

/** The latest pictures. New ones are held back while the reader looks at the current ones. */
function Arrivals({ arrived, onOpen }: Pick<Props, 'arrived' | 'onOpen'>): JSX.Element {
  const place = useRef<HTMLDivElement>(null);
  const [shown, setShown] = useState(arrived);
  const known = new Set(shown);
  const waiting = arrived.filter((scene) => !known.has(scene)).length;
  // Decided when pictures arrive, so that the picture under the pointer isn't replaced.
  const isHeld = waiting > 0 && isLookedAt(place.current);
  const scenes = isHeld ? shown : arrived;
  if (!isHeld && waiting > 0) setShown(arrived);
  return (
    <div class="arrivals" ref={place} role="region" aria-label="Latest pictures" tabIndex={-1}>
      <PictureGrid
        isSmall
        pictures={scenes.map(({ row, index }) => scenePicture(row, index))}
        onOpen={(position) => {
          const scene = scenes[position];
          if (scene !== undefined) onOpen(scene);
        }}
      />
      {isHeld && (
        <button type="button" class="new primary" onClick={() => setShown(arrived)}>
          {countWords(waiting)} new
        </button>
      )}
    </div>
  );
}

function isLookedAt(element: HTMLElement | null): boolean {
  return element !== null && (element.contains(document.activeElement) || element.matches(':hover'));
}
