/** A scene's words and a seed → everything that the picture shows, where it stands and in what light; pure. */
import { namedColours } from '../colour.ts';
import { readWords, type SceneWords } from '../language/read-words.ts';
import { viewOf, type View } from './layout/camera.ts';
import { boxOf, type Standing } from './layout/cluster.ts';
import { layOut } from './layout/lay-out.ts';
import { settingOf, type Setting } from './layout/setting-of.ts';
import { daylightOf, linear, type Daylight, type Light } from './picture/daylight.ts';
import type { Bounds } from './things/bounds.ts';
import { thingOf } from './things/catalogue.ts';

export interface PicturePlan {
  words: SceneWords;
  things: Standing[];
  setting: Setting;
  daylight: Daylight;
  groundColour: Light | null;
  view: View;
  /** What the picture is of. */
  box: Bounds;
  seed: string;
}

export function planPicture(text: string, seed: number, aspect: number): PicturePlan {
  const words = readWords(text);
  const setting = settingOf(words, String(seed));
  const things = layOut(words.subjects, String(seed));
  const box = things.length > 0 ? boxOf(things) : emptyBox;
  const isTabletop = words.subjects.every(({ noun }) => thingOf(noun).home === 'table');
  const view = viewOf(
    box,
    things.length === 0 && words.camera === 'usual' ? 'low' : words.camera,
    aspect,
    isTabletop && things.length > 0,
    String(seed),
  );
  const facing = Math.atan2(view.from[0] - view.to[0], view.from[2] - view.to[2]);
  return {
    words,
    things,
    setting,
    daylight: daylightOf(setting, words, facing, String(seed)),
    groundColour: words.groundColour === null ? null : linear(namedColours[words.groundColour]),
    view,
    box,
    seed: String(seed),
  };
}

/** Where the words name no thing the place itself is the picture. */
const emptyBox: Bounds = { low: [-3.4, 0, -3], high: [3.4, 5.6, 3] };
