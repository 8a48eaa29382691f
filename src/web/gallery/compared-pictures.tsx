/** Two to four pictures side by side, or one wiped over another; they are moved and zoomed together. */
import type { JSX } from 'preact';
import type { GalleryData } from '../../runner/core/gallery-data.ts';
import { Dialog } from '../shared/dialog.tsx';
import { useLoaded } from '../shared/hooks.ts';
import { Image } from '../shared/picture-grid.tsx';
import { Differences, type Compared } from './differences.tsx';
import { KeyHint, markKeys } from './mark-buttons.tsx';
import { letterOf } from './picks.tsx';
import type { Side } from './place.ts';
import type { Rows } from './rows.ts';
import { findScene, type ViewProps } from './scene-dialog.tsx';
import { pictureBefore, scenePicture } from './scene-picture.ts';
import { useZoom, zoomKeys, type Zooming } from './use-zoom.ts';

export function ComparedPictures({ data, rows, place, go, marking }: ViewProps): JSX.Element {
  const { sides } = place;
  const compared = useLoaded([rows, JSON.stringify(sides)], () => loaded(sides, rows, data)) ?? [];
  const zooming = useZoom(compared.length === 2);
  const { wipe, setWipe, onKeyDown } = zooming;
  const close = (): void => go({ sides: [] });
  const bar = <Buttons {...zooming} canWipe={compared.length === 2} onClose={close} />;
  return (
    <Dialog
      title="Side by side"
      bar={bar}
      onClose={close}
      attributes={{ class: 'viewer compared', onKeyDown }}
    >
      <Panes compared={compared} zooming={zooming} />
      {wipe !== undefined && (
        <input
          type="range"
          max="1"
          step="any"
          value={wipe}
          aria-label="Where A ends and B begins"
          onInput={(event) => setWipe(event.currentTarget.valueAsNumber)}
        />
      )}
      <div class="stack">
        <KeyHint keys={[...zoomKeys, ...markKeys]} />
        <Differences compared={compared} data={data} marking={marking} />
      </div>
    </Dialog>
  );
}

type ButtonsProps = Zooming & { canWipe: boolean; onClose(): void };

function Buttons({ wipe, toggleWipe, fit, zoomToPixels, canWipe, onClose }: ButtonsProps): JSX.Element {
  return (
    <>
      <button type="button" aria-pressed={wipe !== undefined} disabled={!canWipe} onClick={toggleWipe}>
        Wipe
      </button>
      <button type="button" onClick={fit}>
        Fit
      </button>
      <button type="button" title="Pixel by pixel" onClick={zoomToPixels}>
        1:1
      </button>
      <button type="button" aria-label="Close" onClick={onClose}>
        ✕
      </button>
    </>
  );
}

function Panes({ compared, zooming }: { compared: Compared[]; zooming: Zooming }): JSX.Element {
  const { zoom, wipe, frame } = zooming;
  const style = {
    '--across': acrossOf(compared),
    '--wipe': `${(wipe ?? 0) * 100}%`,
    '--move': `translate(${zoom.x * 100}%, ${zoom.y * 100}%) scale(${zoom.scale})`,
  };
  return (
    <div class={wipe === undefined ? 'panes' : 'panes wipe'} style={style}>
      {compared.map(({ side, index, row, file }, position) => {
        const { size: _, ...picture } = scenePicture(
          row ?? { state: 'gone', source: 'no such scene' },
          index,
        );
        const name = `${picture.caption}${side.picture === 0 ? ', before' : ''}`;
        return (
          <figure
            key={`${side.number}.${side.picture}`}
            {...frame}
            data-scene={row?.id}
            aria-label={`${letterOf(position)}: ${name}`}
          >
            <Image {...picture} sources={[file ?? []].flat()} />
            <figcaption>
              <b>{letterOf(position)}</b> <bdi>{name}</bdi>
            </figcaption>
          </figure>
        );
      })}
    </div>
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

/** Four wide ones are largest in two rows. */
function acrossOf(compared: Compared[]): number {
  const { width = 1, height = 1 } = compared[0]?.row?.pictures?.[0] ?? {};
  return compared.length === 4 && width > height ? 2 : compared.length;
}
