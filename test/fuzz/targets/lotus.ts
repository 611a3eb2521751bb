import { bytesOrNull, link, messageForm } from '../../../devnet/filecoin/rpc/forms.ts'
import { voucherForm } from '../../../devnet/filecoin/rpc/voucher-form.ts'
import { readHandedIn } from '../../../indexer/ingest/handed-in.evolve.ts'
import { settlingAtOf } from '../../../indexer/sources/filecoin/channel-state.ts'
import { decodeExecuted, type ExecutedMessage } from '../../../indexer/sources/filecoin/decode-executed.ts'
import { decodeLotusVoucher } from '../../../indexer/sources/filecoin/decode-lotus-voucher.ts'
import { decodeMessage, execCode } from '../../../indexer/sources/filecoin/decode-message.ts'
import { checkTime, decodeTipset, denseHeaders } from '../../../indexer/sources/filecoin/decode-tipset.ts'
import { BadAnswer } from '../../../indexer/sources/rpc/rpc-error.ts'
import { isPaymentChannelCode } from '../../../shared/filecoin/actor-codes.ts'
import { idAddress } from '../../../shared/filecoin/address.ts'
import { leanAnswers } from '../../../indexer/sources/filecoin/lean-answers.ts'
import { parseLotusJson } from '../../../shared/filecoin/lotus-json.ts'
import { messageCid, type Message } from '../../../shared/filecoin/message.ts'
import { voucherText, type SignedVoucher } from '../../../shared/filecoin/voucher.ts'
import { MILLION, must, mustBeStorable, shown, type FuzzTarget, type Outcome } from '../fuzz-target.ts'
import { bytesLike } from '../mutate-bytes.ts'
import { jsonLike, type JsonSample } from '../mutate-json.ts'
import type { FuzzRandom } from '../random.ts'
import { lotusSample, publishedMessages, sampleMessages, sampleVouchers } from '../samples.ts'
import { actorAddress, encodeExecReturn, encodeUpdateParams } from '../../../devnet/filecoin/codec.ts'

const CONTEXT = {
  header: { number: 77, hash: 'tipset', parentHash: 'parent', timeS: 1_700_000_000 },
  letter: 't',
  epochDurationS: 30,
  isChannelCode: isPaymentChannelCode,
} as const
/** Characters of a stored event as JSON: a hostile message must not fill the database. */
const LONGEST_EVENT = 5_000

/** A node's answer is text: the JSON reader comes first, and text that it refuses goes no further. */
function answerTarget(
  given: Pick<FuzzTarget, 'name' | 'about'>,
  samples: () => JsonSample[],
  feed: (answer: unknown) => Outcome,
): FuzzTarget {
  const feedText = (text: string): Outcome => {
    let answer: unknown
    try {
      answer = leanAnswers(parseLotusJson(text))
    } catch (error) {
      if (error instanceof SyntaxError) return 'refused'
      throw error
    }
    try {
      return feed(answer)
    } catch (error) {
      if (error instanceof BadAnswer) return 'refused'
      throw error
    }
  }
  return {
    ...given,
    cases: MILLION,
    quickCases: 1_000,
    open: () => {
      const valid = samples()
      return {
        make: (random) => {
          const text = jsonLike(random, valid)
          return { feed: () => feedText(text), show: () => shown(text) }
        },
      }
    },
  }
}

const cids = Array.from({ length: 8 }, (_, index) =>
  link(`bafy2bzacefuzz${'abcdefgh'.charAt(index)}`.repeat(3)),
)
const block = (height: number, parents: unknown) => ({
  ...{ Miner: 't01000', Parents: parents, Height: height, Timestamp: 1_000 + 30 * height },
  ...{ ParentStateRoot: cids[0], ParentMessageReceipts: cids[1], Messages: cids[2], BlockSig: null },
})
const FACTS = { genesisKey: 'first', genesisTimeS: 1_000, epochDurationS: 30, areHeadersHashed: false }

function feedTipset(answer: unknown): Outcome {
  const tipset = decodeTipset(answer)
  mustBeStorable(tipset)
  if (tipset.height < 1e9) {
    const headers = denseHeaders([tipset], tipset.height, tipset.height + 3, FACTS)
    must(headers.length === 4 && headers[0]?.hash === tipset.key, 'dense headers')
  }
  checkTime(tipset, FACTS)
  return 'taken'
}

const tipsets = answerTarget(
  { name: 'lotus-tipset', about: 'JSON of a tipset: read whole, or a BadAnswer' },
  () =>
    [
      { Cids: [cids[0]], Blocks: [block(0, null)], Height: 0 },
      { Cids: [cids[0]], Blocks: [block(7, [cids[1]])], Height: 7 },
      ...[8, 900].map((height) => ({
        Cids: cids.slice(0, 3),
        Blocks: [0, 1, 2].map(() => block(height, cids.slice(3, 5))),
        Height: height,
      })),
    ].map(lotusSample),
  feedTipset,
)

const states = answerTarget(
  { name: 'lotus-state', about: 'JSON of an actor’s state: an epoch, nothing, or a BadAnswer' },
  () =>
    [0, 2_000].map((epoch) =>
      lotusSample({
        Balance: '1000',
        Code: cids[0],
        State: {
          From: 't0100',
          To: 't0101',
          ToSend: '5',
          SettlingAt: epoch,
          MinSettleHeight: 0,
          LaneStates: cids[1],
        },
      }),
    ),
  (result) => {
    const epoch = settlingAtOf({ ok: true, result })
    must(epoch === null || epoch > 0, 'an epoch')
    return epoch === null ? 'refused' : 'taken'
  },
)

/** Never throws: an undecodable message is stored as such. */
function checkMessage(executed: ExecutedMessage): Outcome {
  const code = execCode(executed)
  const event = decodeMessage(executed, CONTEXT)
  if (event === null) return 'refused'
  must(
    code === null || event.kind === 'CreateChannel' || event.kind === 'UndecodableMessage',
    'an exec makes an actor',
  )
  const json = JSON.stringify(event)
  must(json.length < LONGEST_EVENT, `an event of ${json.length} characters`)
  mustBeStorable(event)
  return event.kind === 'UndecodableMessage' ? 'refused' : 'taken'
}

const channelIn = (message: Message): Message => ({
  ...message,
  to: actorAddress(Uint8Array.of(1)),
  method: 2n,
})

/**
 * Several senders sign with BLS, whose messages' CIDs are compared. The others give no inner CID, so any content is
 * possible.
 */
function executedForm(message: Message, exitCode: number, returned: Uint8Array, isChecked: boolean): object {
  const form = messageForm(message, 't')
  return {
    messages: [{ Cid: link(messageCid(message)), Message: isChecked ? form : { ...form, CID: undefined } }],
    receipts: [{ ExitCode: exitCode, Return: bytesOrNull(returned), GasUsed: 1, EventsRoot: null }],
  }
}

const executed = answerTarget(
  { name: 'lotus-executed', about: 'JSON of messages and receipts: events that are short, or a BadAnswer' },
  () => {
    const published = publishedMessages().map(({ message, exitCode, returned }, index) =>
      executedForm(message, exitCode, returned, index % 3 === 0),
    )
    const vouchers = sampleVouchers(12).map((voucher, index) => {
      const params = encodeUpdateParams({ voucher, secret: new Uint8Array(index) })
      const sender = { from: idAddress(100n), nonce: 2n ** 64n - 1n }
      const [message] = sampleMessages(1)
      if (message === undefined) throw new Error('no sample')
      return executedForm({ ...channelIn(message), ...sender, params }, 0, new Uint8Array(), false)
    })
    return [...published, ...vouchers].map(lotusSample)
  },
  (answer) => {
    const { messages, receipts } = (answer ?? {}) as { messages?: unknown; receipts?: unknown }
    const found = decodeExecuted(messages, receipts)
    return found.map(checkMessage).includes('taken') ? 'taken' : 'refused'
  },
)

const vouchers = answerTarget(
  { name: 'lotus-voucher', about: 'JSON of a voucher: one with a text that reads the same, or a BadAnswer' },
  () => sampleVouchers(40).map((voucher) => lotusSample(voucherForm(voucher, 't'))),
  (answer) => {
    const text = textOrNothing(decodeLotusVoucher(answer))
    if (text === null) return 'refused'
    const reading = readHandedIn({ voucher: text }, 't')
    if (!reading.ok) mustBeStorable(reading.reason)
    else must('voucher' in reading.read.item && reading.read.item.voucher === text, 'it is the same voucher')
    return 'taken'
  },
)

/** A number that its field cannot hold is the one documented RangeError. */
function textOrNothing(voucher: SignedVoucher): string | null {
  try {
    return voucherText(voucher)
  } catch (error) {
    if (error instanceof RangeError && /64|at most 127 bytes/.test(error.message)) return null
    throw error
  }
}

interface ParamsSample {
  message: Message
  returned: Uint8Array
}

const params: FuzzTarget = {
  name: 'lotus-params',
  about:
    'parameters and returns of executed messages: an event that is short, undecodable or none; never an exception',
  cases: MILLION,
  quickCases: 400,
  open: () => {
    const published: ParamsSample[] = publishedMessages()
    const [base] = sampleMessages(1)
    if (base === undefined) throw new Error('no sample')
    const updates = sampleVouchers(30).map((voucher, index) => ({
      message: {
        ...channelIn(base),
        params: encodeUpdateParams({ voucher, secret: new Uint8Array(8 * index) }),
      },
      returned: new Uint8Array(),
    }))
    const samples = [...published, ...updates]
    const returns = [...published.map(({ returned }) => returned), encodeExecReturn(idAddress(5n), base.from)]
    const make = (random: FuzzRandom): ExecutedMessage => {
      const { message, returned } = random.pick(samples)
      const isWhole = random.chance(0.1)
      return {
        cid: 'bafy',
        index: 4,
        message: isWhole ? message : { ...message, params: bytesLike(random, [message.params]) },
        returned: random.chance(0.8) ? returned : bytesLike(random, returns),
      }
    }
    return {
      make: (random) => {
        const input = make(random)
        return { feed: () => checkMessage(input), show: () => shown(input) }
      },
    }
  },
}

export const LOTUS_TARGETS: readonly FuzzTarget[] = [tipsets, states, executed, vouchers, params]
