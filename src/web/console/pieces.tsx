/** What several pages of the console show. */
import type { ComponentChildren, JSX } from 'preact';
import { Copyable } from '../shared/text.tsx';
import type { Tone } from '../shared/tone.ts';
import { useService } from './service.ts';

/** A state: its word, with a shape and a colour that say the same. */
export function Mark({ tone, children }: { tone: Tone; children: ComponentChildren }): JSX.Element {
  return (
    <span class={`mark ${tone}`}>
      <span class="shape" aria-hidden="true" />
      <span>{children}</span>
    </span>
  );
}

/** A part of a page, with its heading. */
export function Card({ title, children }: { title: string; children: ComponentChildren }): JSX.Element {
  return (
    <section class="card stack" aria-label={title}>
      <h2>{title}</h2>
      {children}
    </section>
  );
}

interface NothingProps {
  title: string;
  text: string;
  back: string;
}

/** Where an address leads to nothing. */
export function NothingHere({ title, text, back }: NothingProps): JSX.Element {
  return (
    <>
      <h1>{title}</h1>
      <p class="soft">{text}</p>
      <p>
        <a href={back}>Back</a>
      </p>
    </>
  );
}

/** What is said of a scene-renderer that paints; nothing where it renders. */
export function RendererNotice(): JSX.Element | null {
  const { rendererLack: lack } = useService().overview;
  if (lack === null) return null;
  return (
    <div class="message wait stack">
      <p>
        <strong>Painting in 2D:</strong> {lack.reason}. Each output says so.
      </p>
      {lack.install !== null && (
        <>
          <Copyable label="Install what is missing" text={lack.install} />
          <p>Jobs are rendered as soon as it is there.</p>
        </>
      )}
    </div>
  );
}
