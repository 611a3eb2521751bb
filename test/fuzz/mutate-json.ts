import { hostileJson, hostileKey, mutatedText } from './hostile-text.ts'
import type { FuzzRandom } from './random.ts'

/**
 * Valid JSON, split into tokens once. Mutations work on the text, because an object cannot hold many hostile forms
 * (1e400, -0, a duplicate key, `__proto__`). `end[i]` is the last token of the value that begins at token i.
 */
export interface JsonSample {
  tokens: readonly string[]
  end: readonly number[]
  /** Tokens at which values begin, and tokens that are member names. */
  values: readonly number[]
  keys: readonly number[]
}

const TOKEN = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null|[{}[\],:]/g

export function jsonSample(json: string): JsonSample {
  const tokens = json.match(TOKEN) ?? []
  const end = tokens.map((_, index) => index)
  const open: number[] = []
  const values: number[] = []
  const keys: number[] = []
  for (const [index, token] of tokens.entries()) {
    if (token === '}' || token === ']') end[open.pop() ?? 0] = index
    else if (token === ',' || token === ':') continue
    else if (tokens[index + 1] === ':') keys.push(index)
    else values.push(index)
    if (token === '{' || token === '[') open.push(index)
  }
  return { tokens, end, values, keys }
}

/** Returns text that is mostly JSON: a sample unchanged, with one to four spots changed, damaged, or unrelated text. */
export function jsonLike(random: FuzzRandom, samples: readonly JsonSample[]): string {
  const kind = random.below(40)
  if (kind === 0)
    return Buffer.from(random.bytes(random.below(200))).toString(random.pick(['latin1', 'utf8']))
  if (kind === 1) return hostileJson(random)
  const sample = random.pick(samples)
  const slots = [...sample.tokens]
  if (kind < 5) return slots.join('')
  for (let changes = 1 + random.below(4); changes > 0; changes -= 1) change(random, sample, slots, samples)
  const text = slots.join('')
  return kind < 8 ? mutatedText(random, text) : text
}

/** Tokens keep their places: a removed token leaves an empty text. */
function change(
  random: FuzzRandom,
  sample: JsonSample,
  slots: string[],
  samples: readonly JsonSample[],
): void {
  const value = random.pick(sample.values)
  const key = sample.keys.length === 0 ? value : random.pick(sample.keys)
  switch (random.below(8)) {
    case 0:
      return put(sample, slots, value, hostileJson(random))
    case 1:
      return put(sample, slots, value, textOf(random.pick(samples), random))
    case 2:
      return changeScalar(random, slots, value)
    case 3:
      return changeScalar(random, slots, random.pick(sample.values))
    case 4:
      slots[key] = hostileKey(random)
      return
    case 5:
      // A duplicate name is ambiguous: readers may use either value.
      slots[key] = `${slots[key] ?? ''}:${hostileJson(random)},${slots[key] ?? ''}`
      return
    case 6:
      return takeOut(sample, slots, key, value)
    default:
      return repeat(random, sample, slots, value)
  }
}

function put({ end }: JsonSample, slots: string[], at: number, text: string): void {
  slots.fill('', at, (end[at] ?? at) + 1)
  slots[at] = text
}

function textOf({ tokens, end, values }: JsonSample, random: FuzzRandom): string {
  const at = random.pick(values)
  return tokens.slice(at, (end[at] ?? at) + 1).join('')
}

function changeScalar(random: FuzzRandom, slots: string[], at: number): void {
  const token = slots[at] ?? ''
  if (/^"(?:[^"\\]|\\.)*"$/.test(token))
    slots[at] = JSON.stringify(mutatedText(random, JSON.parse(token) as string))
  else if (/^-?\d+$/.test(token)) slots[at] = (BigInt(token) + BigInt(random.below(5) - 2)).toString()
  else if (token !== '{' && token !== '[') slots[at] = hostileJson(random)
}

/** Removes a member or an item, and its comma. */
function takeOut({ tokens, end }: JsonSample, slots: string[], key: number, value: number): void {
  const begin = tokens[value - 1] === ':' ? key : value
  const valueAt = tokens[begin + 1] === ':' ? begin + 2 : begin
  const last = end[valueAt] ?? valueAt
  const from = tokens[begin - 1] === ',' ? begin - 1 : begin
  slots.fill('', from, last + 1)
  if (from === begin && tokens[last + 1] === ',') slots[last + 1] = ''
}

/** Repeats an item; a member's value becomes a list of itself. */
function repeat(random: FuzzRandom, { tokens, end }: JsonSample, slots: string[], at: number): void {
  const last = end[at] ?? at
  const text = slots.slice(at, last + 1).join('')
  const times = text.length < 200 && random.chance(0.02) ? 2_000 : 1 + random.below(3)
  const all = `${text},`.repeat(times) + text
  slots.fill('', at, last + 1)
  slots[at] = tokens[at - 1] === ':' ? `[${all}]` : all
}
