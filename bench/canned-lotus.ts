import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { base64pad } from 'multiformats/bases/base64'
import { createChannel } from '../devnet/filecoin/channel-actions.ts'
import type { SignedMessage } from '../devnet/filecoin/chain/signed-message.ts'
import { openWallet } from '../devnet/filecoin/wallet.ts'
import { createdActorAddress, formatAddress, idAddress } from '../shared/filecoin/address.ts'
import { encodeExecReturn } from '../shared/filecoin/init-actor.ts'
import { cidOfBytes, messageCid } from '../shared/filecoin/message.ts'

/** One tipset in so many makes a channel. */
export const TIPSETS_PER_CHANNEL = 50
const BLOCKS = 5
const EPOCH_S = 30
const GENESIS_TIME_S = 1_600_000_000

interface Call {
  id: number
  method: string
  params: unknown[]
}

/**
 * A node that answers at once: a chain of `tipsets` tipsets of five blocks and `messages` messages each, none of which
 * is kept, for all of it follows from the height. Everything is as large as a real node's. Resolves with its URL.
 */
export async function startCannedLotus(tipsets: number, messages: number): Promise<string> {
  const node = await cannedNode(tipsets, messages)
  const server = createServer((request, response) => {
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    request.on('end', () => {
      const calls = JSON.parse(Buffer.concat(parts).toString('utf8')) as Call | Call[]
      const body = Array.isArray(calls) ? `[${calls.map(node).join(',')}]` : node(calls)
      response.writeHead(200, { 'content-type': 'application/json' }).end(body)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/rpc/v1`
}

async function cannedNode(tipsets: number, messages: number): Promise<(call: Call) => string> {
  const quiet = messageTexts(messages)
  const making = await creation()
  const isMaking = (height: number): boolean => height % TIPSETS_PER_CHANNEL === 0
  const answers: Record<string, (params: unknown[]) => string> = {
    StateNetworkName: () => '"calibrationnet"',
    Version: () => `{"Version":"1.36.2","APIVersion":131840,"BlockDelay":${EPOCH_S}}`,
    ChainGetGenesis: () => tipsetText(0),
    ChainHead: () => tipsetText(tipsets + 901),
    ChainGetFinalizedTipSet: () => tipsetText(tipsets),
    ChainGetTipSetByHeight: ([height]) => tipsetText(Number(height)),
    ChainGetTipSetAfterHeight: ([height]) => tipsetText(Number(height)),
    ChainGetTipSet: ([key]) => tipsetText(heightOf((key as { '/': string }[])[0])),
    ChainGetParentMessages: ([cid]) =>
      isMaking(heightOf(cid) - 1) ? listOf([making.message, quiet.messages]) : listOf([quiet.messages]),
    ChainGetParentReceipts: ([cid]) =>
      isMaking(heightOf(cid) - 1) ? listOf([making.receipt, quiet.receipts]) : listOf([quiet.receipts]),
    StateLookupID: () => '"t01234"',
    StateGetActor: () =>
      '{"Code":{"/":"bafkqadlgnfwc6mjpmfrwg33vnz2a"},"Nonce":1,"Balance":"1","DelegatedAddress":null}',
  }
  return ({ id, method, params }) => {
    const answer = answers[method.replace('Filecoin.', '')]
    return answer === undefined
      ? `{"jsonrpc":"2.0","id":${id},"error":{"code":-32601,"message":"method '${method}' not found"}}`
      : `{"jsonrpc":"2.0","id":${id},"result":${answer(params)}}`
  }
}

const listOf = (items: string[]): string => `[${items.filter((item) => item !== '').join(',')}]`

/** The height stands in the CID, so that nothing needs to be looked up. */
function cidAt(height: number, block: number): string {
  return `bafy2bzace${height.toString().padStart(10, '0')}${'q'.repeat(41)}${block}`
}

function heightOf(cid: unknown): number {
  return Number((cid as { '/': string })['/'].slice(10, 20))
}

function tipsetText(height: number): string {
  const links = (at: number): string =>
    Array.from({ length: BLOCKS }, (_, block) => `{"/":"${cidAt(at, block)}"}`).join(',')
  const parents = height === 0 ? '' : links(height - 1)
  const time = GENESIS_TIME_S + height * EPOCH_S
  const block = `{"Miner":"t01000","Ticket":{"VRFProof":"${'A'.repeat(128)}"},"ElectionProof":{"WinCount":1,"VRFProof":"${'A'.repeat(128)}"},"BeaconEntries":[{"Round":12345678,"Data":"${'A'.repeat(128)}"}],"WinPoStProof":[{"PoStProof":3,"ProofBytes":"${'A'.repeat(256)}"}],"Parents":[${parents}],"ParentWeight":"107000000000","Height":${height},"ParentStateRoot":{"/":"${cidAt(height, 6)}"},"ParentMessageReceipts":{"/":"${cidAt(height, 7)}"},"Messages":{"/":"${cidAt(height, 8)}"},"BLSAggregate":{"Type":2,"Data":"${'A'.repeat(128)}"},"Timestamp":${time},"BlockSig":{"Type":2,"Data":"${'A'.repeat(128)}"},"ForkSignaling":0,"ParentBaseFee":"100"}`
  return `{"Cids":[${links(height)}],"Blocks":[${Array.from({ length: BLOCKS }, () => block).join(',')}],"Height":${height}}`
}

/** Messages that concern no channel, as storage providers send them: some 700 bytes of parameters each. */
function messageTexts(count: number): { messages: string; receipts: string } {
  const wallet = openWallet(
    { letter: 't', nextNonce: () => Promise.resolve(0n), push: () => Promise.resolve('') },
    'bls',
    'provider',
  )
  const text = (index: number): string => {
    const cid = cidAt(index, 9)
    return `{"Cid":{"/":"${cid}"},"Message":{"Version":0,"To":"t0${1000 + index}","From":"${wallet.address}","Nonce":${index},"Value":"0","GasLimit":60000000,"GasFeeCap":"200000","GasPremium":"100000","Method":${5 + (index % 20)},"Params":"${'A'.repeat(960)}","CID":{"/":"${cid}"}}}`
  }
  const receipt = '{"ExitCode":0,"Return":null,"GasUsed":2071100,"EventsRoot":null}'
  return {
    messages: Array.from({ length: count }, (_, index) => text(index)).join(','),
    receipts: Array.from({ length: count }, () => receipt).join(','),
  }
}

/** A message that makes a channel, with its receipt. */
async function creation(): Promise<{ message: string; receipt: string }> {
  const pushed: SignedMessage[] = []
  const push = (signed: SignedMessage): Promise<string> => {
    pushed.push(signed)
    return Promise.resolve(signed.cid)
  }
  const wallet = openWallet({ letter: 't', nextNonce: () => Promise.resolve(0n), push }, 'secp256k1', 'maker')
  await createChannel(wallet, wallet.key, wallet.key, 10n ** 18n)
  const [signed] = pushed
  if (signed === undefined) throw new Error('nothing was sent')
  const { message, cid } = signed
  const returned = encodeExecReturn(idAddress(1234n), createdActorAddress(wallet.key, 0n))
  return {
    message: JSON.stringify({
      Cid: { '/': cid },
      Message: {
        Version: 0,
        To: formatAddress(message.to, 't'),
        From: formatAddress(message.from, 't'),
        Nonce: Number(message.nonce),
        Value: message.value.toString(),
        GasLimit: Number(message.gasLimit),
        GasFeeCap: message.gasFeeCap.toString(),
        GasPremium: message.gasPremium.toString(),
        Method: Number(message.method),
        Params: base64pad.baseEncode(message.params),
        CID: { '/': messageCid(message) },
      },
    }),
    receipt: JSON.stringify({
      ExitCode: 0,
      Return: base64pad.baseEncode(returned),
      GasUsed: 1,
      EventsRoot: { '/': cidOfBytes(message.params) },
    }),
  }
}
