/** The view of failures by kind and cause: the first scenes, the message, and the command that retries them. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { GalleryCause, GalleryFailure } from '../../runner/core/gallery-data.ts';
import { useLoaded } from '../shared/hooks.ts';
import { counted } from '../shared/number-words.ts';
import { Copyable, LongText } from '../shared/text.tsx';
import { ScenePictures, type Scene } from './pictures-view.tsx';
import { type ViewProps, OpenScene } from './scene-dialog.tsx';
import { everything } from './query.ts';
import { selectionOf } from './use-selection.ts';

export function FailuresView(props: ViewProps): JSX.Element {
  const { failures } = props.data;
  const order = failures.flatMap(({ causes }) => causes.flatMap(({ first }) => first));
  return (
    <section aria-label="Failures" class="stack wide">
      {failures.length === 0 && <p class="soft">Nothing failed.</p>}
      {failures.map((failure) => (
        <Kind key={failure.kind} {...props} failure={failure} />
      ))}
      <OpenScene {...props} order={selectionOf(order)} />
    </section>
  );
}

/** Up to this number of causes, all are expanded; of more, only the first. */
const fewCauses = 3;

function Kind({ failure, ...view }: ViewProps & { failure: GalleryFailure }): JSX.Element {
  const { kind, means, scenes, causes, command } = failure;
  const [only] = causes;
  return (
    <article class="card stack">
      <div class="row">
        <h2>
          {kind} <small>{counted(scenes, 'scene')}</small>
        </h2>
        <button
          type="button"
          onClick={() => view.go({ view: 'pictures', query: { ...everything, kind }, page: 1 })}
        >
          Show {scenes === 1 ? 'it' : 'them'}
        </button>
      </div>
      <p class="soft">{means}</p>
      {causes.length === 1 && only !== undefined ? (
        <Examples {...view} kind={kind} cause={only} />
      ) : (
        causes.map((cause, index) => (
          <Cause
            key={cause.text}
            {...view}
            kind={kind}
            cause={cause}
            isFirst={index === 0 || causes.length <= fewCauses}
          />
        ))
      )}
      {command !== null && <Copyable label="Command that retries them" text={command} />}
    </article>
  );
}

type CauseProps = ViewProps & { kind: string; cause: GalleryCause };

function Cause({ isFirst, ...props }: CauseProps & { isFirst: boolean }): JSX.Element {
  const [isOpen, setOpen] = useState(isFirst);
  const { scenes, text, isRest } = props.cause;
  return (
    <details open={isOpen} class="cause" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <strong>{counted(scenes, 'scene')}</strong> <bdi>{isRest ? 'with other texts' : text}</bdi>
      </summary>
      {isOpen && <Examples {...props} />}
    </details>
  );
}

function Examples({ kind, cause, ...view }: CauseProps): JSX.Element {
  const { rows } = view;
  const shown = useLoaded<Scene[]>([rows, cause], async () => {
    const all = await Promise.all(cause.first.map(async (index) => ({ index, row: await rows.at(index) })));
    return all.flatMap(({ index, row }) => (row === undefined ? [] : [{ index, row }]));
  });
  return (
    <div class="stack">
      <ScenePictures {...view} shown={shown ?? []} />
      <LongText label={`A failure, ${kind}`} text={cause.text} isBad />
    </div>
  );
}
