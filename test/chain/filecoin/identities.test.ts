import t, { type Test } from 'tap'
import { createChannel, fundChannel, settle } from '../../../devnet/filecoin/channel-actions.ts'
import { createMultisig, propose } from '../../../devnet/filecoin/multisig-actions.ts'
import { parseAddress, formatAddress } from '../../../shared/filecoin/address.ts'
import { Identities } from '../../../indexer/sources/filecoin/identity.ts'
import { createLotusClient, type LotusClient } from '../../../indexer/sources/filecoin/lotus-client.ts'
import { RobustAddresses } from '../../../indexer/sources/filecoin/robust-addresses.ts'
import type { FilecoinIdentity } from '../../../shared/events/filecoin-event.ts'
import { startProxy, type Request } from '../sources/faulty-proxy.ts'
import { StepIndex } from '../sources/step-index.ts'
import { catchUp, networkOf, sameAsChain } from './catch-up.ts'
import { keyAt } from './chain-truth.ts'
import { startChain } from './traffic.ts'
import { createdActorAddress } from '../../../devnet/filecoin/codec.ts'

t.setTimeout(400_000)

function clientOf(t: Test, node: Parameters<typeof networkOf>[0]): LotusClient {
  const client = createLotusClient(networkOf(node), {
    network: 'filecoin:testnet',
    report: () => undefined,
    timeoutMs: 5_000,
    maxConcurrent: 2,
    maxBatch: 100,
  })
  t.teardown(() => client.rpc.close())
  return client
}

void t.test(
  'parties that are actors have all their names, and their own messages are no channel’s',
  async (t) => {
    const lotus = await startChain(t, { seed: 'names' })
    const { chain } = lotus
    const calls: string[] = []
    const proxy = await startProxy(t, lotus.url, (requests) => {
      calls.push(...requests.map(({ method }) => method))
      return null
    })
    const wallet = await chain.createWallet('secp256k1', 'signer')
    await chain.fund(wallet.address, 10n ** 20n)
    await chain.mine(2)
    const multisig = formatAddress(createdActorAddress(wallet.key, await chain.nextNonce(wallet.key)), 't')
    await createMultisig(wallet, [wallet.key], 1, 10n ** 18n)
    await chain.mine(2)
    const id = `t0${chain.readActor(multisig)?.id ?? ''}`
    const channel = createdActorAddress(wallet.key, await chain.nextNonce(wallet.key))
    await createChannel(wallet, multisig, wallet.key, 100n)
    await createChannel(wallet, wallet.key, id, 100n)
    await chain.mine(2)
    await settle(wallet, channel)
    await propose(wallet, id, { to: wallet.key, method: 0n, value: 1n })
    await fundChannel(wallet, multisig, 5n)
    await chain.mine(2)
    const index = new StepIndex()
    await catchUp(lotus, index, { network: networkOf(proxy) })
    const creates = index.events.filter((event) => event.kind === 'CreateChannel')
    t.equal(creates.length, 2, 'the multisig’s own creation is none')
    const signer = { asWritten: wallet.address, robust: [wallet.address], id: /^t0\d+$/ }
    t.match(creates[0], {
      sender: signer,
      from: { asWritten: multisig, id, robust: [multisig] },
      recipient: signer,
    })
    t.match(creates[1], { from: signer, recipient: { asWritten: id, id, robust: [multisig] } })
    t.match(index.events, [
      { kind: 'CreateChannel' },
      { kind: 'CreateChannel' },
      { kind: 'SettleChannel', settlingAtFrom: 'state' },
      { kind: 'UndecodableMessage', to: id, channel: null },
      { kind: 'FundChannel', to: multisig, channel: multisig },
    ])
    t.equal(
      calls.filter((method) => method === 'Filecoin.StateActorCodeCIDs').length,
      1,
      'of an unknown code',
    )
    t.ok(parseAddress(id))
  },
)

void t.test('the code of a later version is learnt from the node', async (t) => {
  const lotus = await startChain(t, { seed: 'codes' })
  const { chain } = lotus
  const wallet = await chain.createWallet('secp256k1', 'signer')
  await chain.fund(wallet.address, 10n ** 20n)
  await chain.mine(2)
  await createMultisig(wallet, [wallet.key], 1, 7n)
  await createChannel(wallet, wallet.key, wallet.key, 100n)
  await chain.mine(2)
  let isWell = false
  const upgraded = await startProxy(t, lotus.url, async (requests, truth) =>
    (await truth()).map((answer) => {
      const request = requests.find(({ id }) => id === answer.id)
      if (request?.method !== 'Filecoin.StateActorCodeCIDs') return answer
      // A node that fails once has not said that it is no channel's.
      if (!isWell) {
        isWell = true
        return { id: answer.id, error: { code: -32603, message: 'Internal error' } }
      }
      const codes = answer.result as Record<string, unknown>
      return { id: answer.id, result: { ...codes, paymentchannel: codes['multisig'] } }
    }),
  )
  const index = new StepIndex()
  await catchUp(lotus, index, { network: networkOf(upgraded) })
  // What is made so is a channel by its code, and its parameters are a multisig's.
  t.match(index.events, [{ kind: 'UndecodableMessage', to: 't01', channel: null }, { kind: 'CreateChannel' }])
  const honest = new StepIndex()
  await catchUp(lotus, honest)
  sameAsChain(t, honest, lotus, 'with the node’s own codes')
})

void t.test(
  'a lookup that no time-out is enough for leaves a name unknown, and nothing stands still',
  async (t) => {
    const lotus = await startChain(t, { seed: 'slow' })
    const { chain } = lotus
    const wallet = await chain.createWallet('secp256k1', 'signer')
    await chain.fund(wallet.address, 10n ** 20n)
    await chain.mine(2)
    const parties: { id: string; robust: string }[] = []
    for (let made = 0; made < 2; made += 1) {
      const robust = formatAddress(createdActorAddress(wallet.key, await chain.nextNonce(wallet.key)), 't')
      await createMultisig(wallet, [wallet.key], 1, 10n ** 18n)
      await chain.mine(2)
      parties.push({ id: `t0${chain.readActor(robust)?.id ?? ''}`, robust })
    }
    const [slow = { id: '', robust: '' }, quick = { id: '', robust: '' }] = parties
    await createChannel(wallet, wallet.key, slow.id, 100n)
    await chain.mine(2)
    await createChannel(wallet, wallet.key, quick.id, 100n)
    await chain.mine(2)
    let timeOuts = 0
    const proxy = await startProxy(t, lotus.url, (requests) => {
      const isSlow = requests.some(
        ({ method, params }) => method === 'Filecoin.StateLookupRobustAddress' && params[0] === slow.id,
      )
      if (!isSlow) return null
      timeOuts += 1
      return 'hang'
    })
    const index = new StepIndex()
    const network = networkOf(proxy)
    await catchUp(lotus, index, { network, requestTimeoutMs: 300 })
    const recipients = index.events.flatMap((event) =>
      event.kind === 'CreateChannel' ? [event.recipient] : [],
    )
    t.same(recipients, [
      { asWritten: slow.id, id: slow.id, robust: [] },
      { asWritten: quick.id, id: quick.id, robust: [quick.robust] },
    ])
    t.equal(timeOuts, 2)
  },
)

void t.test('names that one node no longer has wait for the one that has them', async (t) => {
  const lotus = await startChain(t, { seed: 'archive' })
  const { chain } = lotus
  const wallet = await chain.createWallet('secp256k1', 'signer')
  await chain.fund(wallet.address, 10n ** 20n)
  await chain.mine(2)
  const channel = createdActorAddress(wallet.key, await chain.nextNonce(wallet.key))
  await createChannel(wallet, wallet.key, wallet.key, 100n)
  await chain.mine(2)
  await settle(wallet, channel)
  await chain.mine(2)
  const isOfState = ({ method }: Request): boolean =>
    /State(GetActor|LookupID|ReadState|LookupRobustAddress)$/.test(method)
  const gone = { code: 1, message: 'bad tipset: lookbacks of more than 24h0m0s are disallowed' }
  const pruned = await startProxy(t, lotus.url, async (requests, truth) =>
    requests.some(isOfState) ? (await truth()).map(({ id }) => ({ id, error: gone })) : null,
  )
  let asked = 0
  const archive = await startProxy(t, lotus.url, (requests) =>
    requests.some(isOfState) && (asked += 1) % 2 === 1 ? { status: 502, body: '' } : null,
  )
  const index = new StepIndex()
  await catchUp(lotus, index, { network: networkOf(lotus, { rpcUrls: [pruned.url, archive.url] }) })
  const id = `t0${chain.readActor(wallet.address)?.id ?? ''}`
  const signer = { asWritten: wallet.address, id, robust: [wallet.address] }
  t.match(index.events, [
    { kind: 'CreateChannel', sender: signer, from: signer, recipient: signer },
    { kind: 'SettleChannel', sender: signer, settlingAtFrom: 'state' },
  ])
  t.ok(asked > 1)
})

void t.test('of very many names in one tipset some stay unknown', async (t) => {
  const lotus = await startChain(t, { seed: 'many' })
  const asked: unknown[] = []
  const proxy = await startProxy(t, lotus.url, (requests) => {
    for (const { method, params } of requests)
      if (method === 'Filecoin.StateLookupRobustAddress') asked.push(params[0])
    return null
  })
  const client = clientOf(t, proxy)
  await lotus.chain.mine(2)
  const [first, second] = [1, 2].map((height) => keyAt(lotus.chain, height))
  const at = (tipset = '', from = 0, count = 0): { address: string; at: string }[] =>
    Array.from({ length: count }, (_, index) => ({ address: `t0${from + index}`, at: tipset }))
  const questions = [...at(first, 90_000, 60), ...at(second, 91_000, 3)]
  const answers = await new RobustAddresses(client.rpc).lookUp(questions)
  t.equal(answers.length, 63)
  t.same(
    asked,
    [...at(first, 90_000, 50), ...at(second, 91_000, 3)].map(({ address }) => address),
  )
  t.ok(answers.slice(50, 60).every((answer) => !answer.ok && answer.message === 'not looked up'))
  t.ok(answers.slice(60).every((answer) => !answer.ok && answer.message !== 'not looked up'))
})

void t.test('who is known stays known while others are asked, however few are remembered', async (t) => {
  const { chain, url } = await startChain(t, { seed: 'few' })
  const names: string[] = []
  for (const label of ['a', 'b', 'c', 'd']) {
    const { address } = await chain.createWallet('secp256k1', label)
    await chain.fund(address, 1n)
    names.push(address)
  }
  await chain.mine(2)
  const [a = '', b = '', c = '', d = ''] = names
  const at = keyAt(chain, chain.head().height)
  const truth = (address: string): FilecoinIdentity => {
    const id = `t0${chain.readActor(address)?.id ?? ''}`
    return { asWritten: address, id, robust: [address] }
  }
  const known = new Identities(clientOf(t, { url }).rpc, 't', 2)
  const identify = async (...addresses: string[]): Promise<unknown[]> => {
    const questions = addresses.map((address) => ({ address, at, isFinal: true }))
    return (await known.identify(questions, [])).identities
  }
  t.same(await identify(a, b), [a, b].map(truth))
  t.same(await identify(a, c), [a, c].map(truth), 'the oldest goes for one that is asked beside it')
  const [one, other] = await Promise.all([identify(b, d), identify(c, a)])
  t.same(one, [b, d].map(truth), 'or for one of another call at the same time')
  t.same(other, [c, a].map(truth))
})
