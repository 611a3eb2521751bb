import type { FuzzRandom } from './random.ts'

/** Bytes at which decoders branch: ends of ranges, CBOR's heads (indefinite, tags, eight-byte lengths), sign bits. */
const TURNS = Uint8Array.of(
  ...[
    0x00, 0x01, 0x02, 0x17, 0x18, 0x1b, 0x20, 0x2a, 0x3b, 0x40, 0x41, 0x58, 0x5b, 0x5f, 0x7b, 0x7f, 0x80,
    0x81,
  ],
  ...[0x82, 0x8b, 0x9b, 0x9f, 0xa0, 0xa1, 0xbf, 0xc2, 0xd8, 0xf4, 0xf6, 0xf7, 0xf9, 0xfb, 0xfe, 0xff],
)
const LONGEST = 200_000

/** Returns valid bytes with one to four spots changed. */
export function mutatedBytes(random: FuzzRandom, valid: Uint8Array): Uint8Array {
  let bytes = valid
  for (let changes = 1 + random.below(4); changes > 0; changes -= 1) bytes = changed(random, bytes)
  return bytes
}

function changed(random: FuzzRandom, bytes: Uint8Array): Uint8Array {
  const at = random.below(bytes.length + 1)
  switch (random.below(9)) {
    case 0:
      return overwritten(bytes, at, Uint8Array.of((bytes[at] ?? 0) ^ (1 << random.below(8))))
    case 1:
      return overwritten(bytes, at, Uint8Array.of(random.pick([...TURNS])))
    case 2:
      return overwritten(bytes, at, random.bytes(1 + random.below(8)))
    case 3:
      return bytes.slice(0, at)
    case 4:
      return joined(bytes.subarray(0, at), bytes.subarray(at + 1 + random.below(4)))
    case 5:
      return joined(bytes.subarray(0, at), Uint8Array.of(random.pick([...TURNS])), bytes.subarray(at))
    case 6:
      // Enlarges a length field of eight bytes.
      return overwritten(bytes, at, blownUp(random))
    case 7:
      return bytes.length > LONGEST ? bytes : repeated(random, bytes, at)
    default:
      return joined(bytes, random.bytes(random.below(64)))
  }
}

function blownUp(random: FuzzRandom): Uint8Array {
  const head = random.pick([0x1b, 0x3b, 0x5b, 0x7b, 0x9b, 0xbb, 0xdb])
  return Uint8Array.of(
    head,
    ...(random.chance(0.5) ? new Uint8Array(8).fill(0xff) : [0, 0, 0, 1, ...random.bytes(4)]),
  )
}

/** Repeats a range of bytes: mostly once or twice, seldom ten thousand times. */
function repeated(random: FuzzRandom, bytes: Uint8Array, at: number): Uint8Array {
  const stretch = bytes.subarray(at, at + 1 + random.below(40))
  const times = random.chance(0.02)
    ? Math.min(10_000, Math.floor(LONGEST / (stretch.length + 1)))
    : 1 + random.below(3)
  return joined(bytes.subarray(0, at), ...Array.from({ length: times }, () => stretch), bytes.subarray(at))
}

function overwritten(bytes: Uint8Array, at: number, by: Uint8Array): Uint8Array {
  const copy = bytes.slice()
  copy.set(by.subarray(0, Math.max(0, copy.length - at)), Math.min(at, copy.length))
  return copy
}

export function joined(...parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0))
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.length
  }
  return whole
}

/** Returns valid, mutated or uniformly random bytes. */
export function bytesLike(random: FuzzRandom, samples: readonly Uint8Array[]): Uint8Array {
  const kind = random.below(20)
  if (kind === 0) return random.bytes(random.below(300))
  const sample = random.pick(samples)
  return kind < 3 ? sample : mutatedBytes(random, sample)
}

export function hexOf(bytes: Uint8Array): string {
  return `0x${Buffer.from(bytes).toString('hex')}`
}
