import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { makeChannelLives, messageForm, messageText, receiptText } from './channel-lives.ts'
import { quietMessages } from './quiet-messages.ts'
import { EPOCH_S, NOT_FINAL, type LotusShape } from './tipsets.ts'

interface Call {
  id: number
  method: string
  params: unknown[]
}

/**
 * Serves a node that answers at once: its chain follows from its shape, and only channels are stored. Resolves with its
 * URL.
 */
export async function serveSyntheticLotus(shape: LotusShape): Promise<string> {
  const node = await answersOf(shape)
  const server = createServer((request, response) => {
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    request.on('end', () => {
      const calls = JSON.parse(Buffer.concat(parts).toString('utf8')) as Call | Call[]
      const body = Array.isArray(calls) ? `[${calls.map(node).join(',')}]` : node(calls)
      response.writeHead(200, { 'content-type': 'application/json' }).end(body)
    })
  })
  // It offers no head notifications, because its chain does not grow.
  server.on('upgrade', (_request, socket) => socket.end('HTTP/1.1 404 Not Found\r\n\r\n'))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/rpc/v1`
}

async function answersOf(shape: LotusShape): Promise<(call: Call) => string> {
  const quiet = quietTexts(shape.messages)
  const { actions, tipsets, idOf, stateOf } = await makeChannelLives(shape)
  const actionAt = new Map(actions.map((action) => [action.height, action]))
  const tipset = (height: unknown): string => tipsets.text(Number(height))
  const heightOf = (cid: unknown): number => tipsets.placeOf(cid)?.height ?? NaN
  const parentsOf = (cid: unknown, part: 'message' | 'receipt', others: string): string => {
    const own = actionAt.get(heightOf(cid) - 1)?.[part] ?? ''
    return `[${own}${own === '' || others === '' ? '' : ','}${others}]`
  }
  const answers: Record<string, (params: unknown[]) => string | undefined> = {
    StateNetworkName: () => '"calibrationnet"',
    Version: () => `{"Version":"1.36.2","APIVersion":131840,"BlockDelay":${EPOCH_S}}`,
    ChainGetGenesis: () => tipset(0),
    ChainHead: () => tipset(shape.tipsets + NOT_FINAL),
    ChainGetFinalizedTipSet: () => tipset(shape.tipsets),
    ChainGetTipSetByHeight: ([height]) => tipset(height),
    ChainGetTipSetAfterHeight: ([height]) => tipset(height),
    ChainGetTipSet: ([key]) => tipset(heightOf((key as unknown[])[0])),
    ChainGetParentMessages: ([cid]) => parentsOf(cid, 'message', quiet.messages),
    ChainGetParentReceipts: ([cid]) => parentsOf(cid, 'receipt', quiet.receipts),
    ChainGetBlockMessages: ([cid]) => {
      const { height = NaN, block } = tipsets.placeOf(cid) ?? {}
      if (block === 0) return actionAt.get(height)?.listed ?? NO_MESSAGES
      return block === 1 ? quiet.listed : NO_MESSAGES
    },
    StateLookupID: ([address]) => JSON.stringify(idOf.get(String(address))),
    StateGetActor: () =>
      '{"Code":{"/":"bafkqadlgnfwc6mjpmfrwg33vnz2a"},"Nonce":1,"Balance":"1","DelegatedAddress":null}',
    StateReadState: ([address]) => stateOf.get(String(address)),
  }
  return ({ id, method, params }) => {
    const answer = answers[method.replace('Filecoin.', '')]?.(params)
    return answer === undefined
      ? `{"jsonrpc":"2.0","id":${id},"error":{"code":-32601,"message":"method '${method}' not found"}}`
      : `{"jsonrpc":"2.0","id":${id},"result":${answer}}`
  }
}

const NO_MESSAGES = '{"BlsMessages":[],"SecpkMessages":[],"Cids":[]}'

/** Answers of `ChainGetParentMessages` and `ChainGetParentReceipts` without brackets, and of `ChainGetBlockMessages`. */
function quietTexts(count: number): { messages: string; receipts: string; listed: string } {
  const quiet = quietMessages(count)
  const cids = quiet.map(({ cid }) => ({ '/': cid }))
  return {
    messages: quiet.map(messageText).join(','),
    receipts: quiet.map(({ receipt }) => receiptText(receipt)).join(','),
    listed: JSON.stringify({
      BlsMessages: quiet.map(({ message }) => messageForm(message)),
      SecpkMessages: [],
      Cids: cids,
    }),
  }
}
