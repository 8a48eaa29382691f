/** Two to four pictures side by side, or one wiped over another; they are moved and zoomed together. */
import type { JSX } from 'preact';
import { useMemo, useRef, useState } from 'preact/hooks';
import type { GalleryData, GalleryRow } from '../../runner/core/gallery-data.ts';
import { Dialog } from '../shared/dialog.tsx';
import { useLoaded } from '../shared/hooks.ts';
import { Image } from '../shared/picture-grid.tsx';
import { Differences } from './differences.tsx';
import { isPlainKey, KeyHint, markKeys } from './mark-buttons.tsx';
import { letterOf } from './picks.tsx';
import type { Side } from './place.ts';
import { findScene, type ViewProps } from './scene-dialog.tsx';
import { pictureBefore, scenePicture } from './scene-picture.ts';
import type { Rows } from './rows.ts';
import { useZoom, type Zoom } from './use-zoom.ts';

export interface Compared {
  side: Side;
  index: number;
  /** Undefined where there is no such scene any more. */
  row: GalleryRow | undefined;
  /** The address of its picture. */
  file: string | undefined;
}

/** What a key does, besides those of the marks. */
const keys: [string, string][] = [
  ['+ −', 'zoom'],
  ['← ↑ → ↓', 'move'],
  ['0', 'all of it'],
  ['1', 'pixels'],
  ['W', 'wipe'],
];

export function ComparedPictures({ data, rows, place, go, marking }: ViewProps): JSX.Element {
  const { sides } = place;
  const compared = useLoaded([rows, JSON.stringify(sides)], () => loaded(sides, rows, data)) ?? [];
  const panes = useRef<HTMLDivElement>(null);
  const [isWipe, setWipe] = useState(false);
  const [share, setShare] = useState(0.5);
  const wipeTo = (wanted: number): void => setShare(Math.min(1, Math.max(0, wanted)));
  const { zoom, zoomAt, move, frame, fit } = useZoom(wipeTo);
  const canWipe = compared.length === 2;
  const isWiped = isWipe && canWipe;
  const zoomToPixels = (): void => zoomAt(scaleOfPixels(panes.current) / zoom.scale);
  const step = (x: number, y: number): void => {
    if (isWiped && zoom.scale === 1) wipeTo(share - x / 5);
    else move(x / 10, y / 10);
  };
  const byKey: Record<string, () => void> = {
    '+': () => zoomAt(1.25),
    '=': () => zoomAt(1.25),
    '-': () => zoomAt(0.8),
    '0': fit,
    '1': zoomToPixels,
    w: () => setWipe(!isWipe),
    arrowleft: () => step(1, 0),
    arrowright: () => step(-1, 0),
    arrowup: () => step(0, 1),
    arrowdown: () => step(0, -1),
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const act = byKey[event.key.toLowerCase()];
    const isOfSlider = event.target instanceof HTMLInputElement && event.key.startsWith('Arrow');
    if (act === undefined || isOfSlider || !isPlainKey(event)) return;
    event.preventDefault();
    act();
  };
  const table = useMemo(
    () => (
      <Differences
        compared={compared}
        data={data}
        marking={marking}
        onSides={(left) => go({ sides: left })}
      />
    ),
    [compared, data, marking],
  );
  const bar = (
    <>
      {canWipe && (
        <button type="button" aria-pressed={isWiped} title="One over the other (W)" onClick={byKey['w']}>
          Wipe
        </button>
      )}
      <button type="button" aria-label="Smaller" onClick={byKey['-']}>
        −
      </button>
      <button type="button" aria-label="Larger" onClick={byKey['+']}>
        +
      </button>
      <button type="button" title="All of it (0)" onClick={fit}>
        Fit
      </button>
      <button type="button" title="Pixel by pixel (1)" onClick={zoomToPixels}>
        1:1
      </button>
      <button type="button" aria-label="Close" onClick={() => go({ sides: [] })}>
        ✕
      </button>
    </>
  );
  return (
    <Dialog
      title="Side by side"
      bar={bar}
      onClose={() => go({ sides: [] })}
      attributes={{ class: 'compared', autofocus: true, onKeyDown }}
    >
      <div
        ref={panes}
        class={isWiped ? 'panes wipe' : 'panes'}
        style={{ '--across': acrossOf(compared), '--wipe': `${share * 100}%`, '--move': moveOf(zoom) }}
      >
        {compared.map((one, position) => (
          <Pane key={`${one.side.number}.${one.side.picture}`} {...one} position={position} frame={frame} />
        ))}
      </div>
      {isWiped && (
        <input
          class="divider"
          type="range"
          min="0"
          max="1"
          step="any"
          value={share}
          aria-label="Where A ends and B begins"
          onInput={(event) => wipeTo(event.currentTarget.valueAsNumber)}
        />
      )}
      <div class="stack below">
        <KeyHint keys={[...keys, ...markKeys]} />
        {table}
      </div>
    </Dialog>
  );
}

type PaneProps = Compared & { position: number; frame: object };

function Pane({ row, index, file, side, position, frame }: PaneProps): JSX.Element {
  const name = row === undefined ? 'No such scene' : (row.id ?? row.source);
  const { size: _, ...picture } = scenePicture(row ?? { state: 'withdrawn', source: '' }, index);
  return (
    <figure {...frame} data-scene={row?.id} tabIndex={0} aria-label={`${letterOf(position)}: ${name}`}>
      <Image {...picture} sources={[file ?? []].flat()} />
      <figcaption>
        <b>{letterOf(position)}</b> <bdi>{name}</bdi>
        {side.picture === 0 && ', before'}
        {row?.state === 'withdrawn' && ', withdrawn'}
      </figcaption>
    </figure>
  );
}

function loaded(sides: Side[], rows: Rows, data: GalleryData): Promise<Compared[]> {
  return Promise.all(
    sides.map(async (side) => {
      const { index, row } = await findScene(rows, side.number - 1, side.id);
      const own = row?.pictures?.[side.picture - 1]?.file;
      return { side, index, row, file: own ?? (row && pictureBefore(row, data)) };
    }),
  );
}

function moveOf({ scale, x, y }: Zoom): string {
  return `translate(${x * 100}%, ${y * 100}%) scale(${scale})`;
}

/** So many in a row as make them largest. */
function acrossOf(compared: Compared[]): number {
  const { width = 1, height = 1 } = compared[0]?.row?.pictures?.[0] ?? {};
  const count = Math.max(1, compared.length);
  const sizes = Array.from({ length: count }, (_, before) =>
    Math.min(
      innerWidth / (before + 1) / width,
      (innerHeight * 0.6) / Math.ceil(count / (before + 1)) / height,
    ),
  );
  return sizes.indexOf(Math.max(...sizes)) + 1;
}

/** The scale at which a pixel of the first picture is one of the screen. */
function scaleOfPixels(panes: HTMLElement | null): number {
  const img = panes?.querySelector('img');
  if (img === null || img === undefined || img.naturalWidth === 0) return 1;
  const { clientWidth, clientHeight, naturalWidth, naturalHeight } = img;
  return 1 / Math.min(clientWidth / naturalWidth, clientHeight / naturalHeight) / devicePixelRatio;
}
