import fc from 'fast-check'
import { lotusText } from '../../devnet/filecoin/rpc/lotus-text.ts'
import { jsonSample, type JsonSample } from './mutate-json.ts'
import { type Message } from '../../shared/filecoin/message.ts'
import { MESSAGE, VOUCHER } from '../helpers/filecoin-arbitraries.ts'
import { readFilecoinVectors } from '../helpers/filecoin-vectors.ts'
import type { SignedVoucher } from '../../shared/filecoin/voucher.ts'
import { decodeMessage } from '../../devnet/filecoin/codec.ts'

/** Valid samples: always the same, because a case must follow from its seed and number. */

function drawn<T>(arbitrary: fc.Arbitrary<T>, count: number): T[] {
  return fc.sample(arbitrary, { seed: 20_26, numRuns: count })
}

export function sampleVouchers(count = 60): SignedVoucher[] {
  return drawn(VOUCHER, count)
}

export function sampleMessages(count = 40): Message[] {
  return [...publishedMessages().map(({ message }) => message), ...drawn(MESSAGE, count)]
}

/** Returns messages that ran on the real chain or its reference implementations. */
export function publishedMessages(): { message: Message; exitCode: number; returned: Uint8Array }[] {
  return readFilecoinVectors().flatMap(({ messages, receipts }) =>
    messages.map((bytes, index) => ({
      message: decodeMessage(bytes),
      exitCode: receipts[index]?.exitCode ?? 0,
      returned: receipts[index]?.return ?? new Uint8Array(),
    })),
  )
}

/** Formats a value like a Lotus node: bigints are bare numbers, bytes base64. */
export function lotusSample(value: unknown): JsonSample {
  return jsonSample(lotusText(value))
}
