import { test } from 'tap'
import {
  collect,
  createChannel,
  createdChannel,
  fundChannel,
  INIT_ACTOR,
  redeem,
  settle,
  signVoucher,
} from '../../../devnet/filecoin/channel-actions.ts'
import { BULLETIN_ID } from '../../../devnet/filecoin/chain/genesis.ts'
import type { DevChain, Wallet } from '../../../devnet/filecoin/lotus.ts'
import { formatAddress, idAddress, parseAddress } from '../../../shared/filecoin/address.ts'
import { encodeCbor } from '../../../shared/filecoin/cbor.ts'
import { blake2b256 } from '../../../shared/filecoin/blake2b.ts'
import { encodeVoucher, type SignedVoucher } from '../../../shared/filecoin/voucher.ts'
import { decodeCbor } from '../../../shared/filecoin/cbor.ts'
import { exitCodes, fundedWallets, openChannel, openLotus } from './lotus-chain.ts'
import {
  actorAddress,
  createdActorAddress,
  encodeConstructorParams,
  encodeExecParams,
  encodeUpdateParams,
} from '../../../devnet/filecoin/codec.ts'

const secret = new TextEncoder().encode('0f'.repeat(32))
const secretHash = blake2b256(secret)

interface Stage {
  chain: DevChain
  /** Funds the channel. */
  payer: Wallet
  payee: Wallet
  stranger: Wallet
  channel: { robust: string; id: string }
}

async function stage(test: Parameters<typeof openLotus>[0], amount = 1000n): Promise<Stage> {
  const { chain } = await openLotus(test)
  const [payer, payee, stranger] = await fundedWallets(chain, ['payer', 'payee', 'stranger'])
  if (payer === undefined || payee === undefined || stranger === undefined) throw new Error('no wallets')
  return { chain, payer, payee, stranger, channel: await openChannel(chain, payer, payee, amount) }
}

test('a create gives the next ID and the address that follows from sender and nonce', async (t) => {
  const { chain, payer, payee, stranger } = await stage(t)
  const nonce = await chain.nextNonce(stranger.key)
  const cid = await createChannel(stranger, payer.key, payee.key, 77n)
  await chain.mine(2)
  const made = createdChannel(await chain.waitFor(cid), 't')
  t.equal(made.robust, formatAddress(createdActorAddress(stranger.key, nonce), 't'))
  t.match(chain.readChannel(made.robust), {
    id: made.id,
    balance: 77n,
    toSend: 0n,
    settlingAt: 0n,
    from: `t0${chain.readActor(payer.address)?.id}`,
    to: `t0${chain.readActor(payee.address)?.id}`,
  })
})

test('parties that nobody used yet get accounts: the channel first, then to, then from', async (t) => {
  const { chain, stranger } = await stage(t)
  const [from, to] = [
    await chain.createWallet('bls', 'fresh from'),
    await chain.createWallet('bls', 'fresh to'),
  ]
  const cid = await createChannel(stranger, from.key, to.key, 1n)
  await chain.mine(2)
  const channel = Number(createdChannel(await chain.waitFor(cid), 't').id.slice(2))
  t.equal(chain.readActor(to.address)?.id, channel + 1)
  t.equal(chain.readActor(from.address)?.id, channel + 2)
})

test('creates that fail', async (t) => {
  const { chain, payer, payee, stranger } = await stage(t)
  const unknown = actorAddress(Uint8Array.of(1))
  const outdated = encodeExecParams(
    'bafkqafdgnfwc6nbpobqxs3lfnz2gg2dbnzxgk3a',
    encodeConstructorParams(payer.key, payee.key),
  )
  const nextId = createdChannel(
    await chain.waitFor(await mined(chain, createChannel(stranger, payer.key, payee.key, 1n))),
    't',
  ).id
  t.strictSame(
    await exitCodes(
      chain,
      createChannel(stranger, unknown, payee.key, 1n),
      createChannel(stranger, 't0999999', payee.key, 1n),
      createChannel(stranger, payer.key, payee.key, 10n ** 30n),
      stranger.send({ to: INIT_ACTOR, method: 2n, value: 1n, params: outdated }),
      stranger.send({ to: INIT_ACTOR, method: 2n, params: Uint8Array.of(0x82, 1) }),
      stranger.send({ to: INIT_ACTOR, method: 2n }),
      stranger.send({ to: INIT_ACTOR, method: 9n }),
    ),
    [17, 17, 6, 18, 21, 16, 22],
  )
  const after = await openChannel(chain, payer, payee, 1n)
  t.equal(Number(after.id.slice(2)), Number(nextId.slice(2)) + 1, 'no ID was lost to a failure')
})

async function mined(chain: DevChain, sent: Promise<string>): Promise<string> {
  const cid = await sent
  await chain.mine(2)
  return cid
}

test('a voucher is redeemed by the party that did not sign it, once its terms hold', async (t) => {
  const { chain, payer, payee, stranger, channel } = await stage(t)
  const voucher = signVoucher(payer, { channelAddr: channel.robust, amount: 700n, nonce: 5n, secretHash })
  t.strictSame(
    await exitCodes(
      chain,
      redeem(stranger, channel.robust, voucher, secret),
      redeem(payer, channel.robust, voucher, secret),
      redeem(payee, channel.robust, voucher, Uint8Array.of(1)),
      redeem(payee, channel.robust, { ...voucher, amount: 800n }, secret),
      redeem(payee, channel.robust, { ...voucher, signature: null }, secret),
      redeem(payee, channel.robust, voucher, new Uint8Array(257)),
      redeem(payee, channel.robust, voucher, secret),
      redeem(payee, channel.robust, voucher, secret),
    ),
    [18, 16, 16, 16, 16, 16, 0, 16],
  )
  t.match(chain.readChannel(channel.robust), { toSend: 700n, balance: 1000n })
})

test('the payee signs what the payer redeems; by the ID addresses as well', async (t) => {
  const { chain, payer, payee, channel } = await stage(t)
  const seize = signVoucher(payer, { channelAddr: channel.id, amount: 1000n, nonce: 0n })
  const unlock = signVoucher(payee, { channelAddr: channel.id, amount: 0n, nonce: 1n })
  t.strictSame(await exitCodes(chain, redeem(payee, channel.id, seize)), [0])
  t.equal(chain.readChannel(channel.robust)?.toSend, 1000n)
  const payerId = parseAddress(`t0${chain.readActor(payer.address)?.id}`)
  t.strictSame(
    await exitCodes(
      chain,
      redeem(payer, channel.id, unlock, undefined, payerId === null ? {} : { from: payerId }),
    ),
    [0],
  )
  t.equal(chain.readChannel(channel.robust)?.toSend, 0n)
  t.strictSame(await exitCodes(chain, redeem(payee, channel.id, seize)), [16], 'an older nonce')
})

test('vouchers of BLS keys', async (t) => {
  const { chain, payee } = await stage(t)
  const [payer] = await fundedWallets(chain, ['bls payer'], 'bls')
  if (payer === undefined) throw new Error('no wallet')
  const channel = await openChannel(chain, payer, payee, 10n)
  const good = signVoucher(payer, { channelAddr: channel.robust, amount: 3n })
  const bad = { ...good, amount: 4n }
  t.strictSame(
    await exitCodes(chain, redeem(payee, channel.robust, bad), redeem(payee, channel.robust, good)),
    [16, 0],
  )
})

test('time locks count epochs of the tipset that includes the message', async (t) => {
  const { chain, payer, payee, channel } = await stage(t)
  const height = BigInt(chain.nextHeight)
  const at = (fields: Partial<SignedVoucher>, nonce: bigint): Promise<string> =>
    redeem(
      payee,
      channel.robust,
      signVoucher(payer, { channelAddr: channel.robust, amount: 1n, ...fields, nonce }),
    )
  t.strictSame(
    await exitCodes(
      chain,
      at({ timeLockMin: height + 1n }, 1n),
      at({ timeLockMin: height }, 2n),
      at({ timeLockMax: height - 1n }, 3n),
      at({ timeLockMax: height }, 4n),
    ),
    [16, 0, 16, 0],
  )
})

test('amounts against the balance, lanes and merges', async (t) => {
  const { chain, payer, payee, channel } = await stage(t)
  const at = (fields: Partial<SignedVoucher> & { amount: bigint }): Promise<string> =>
    redeem(payee, channel.robust, signVoucher(payer, { channelAddr: channel.robust, ...fields }))
  t.strictSame(
    await exitCodes(
      chain,
      at({ amount: 1001n }),
      at({ amount: 600n, lane: 1n }),
      at({ amount: 401n, lane: 2n }),
      at({ amount: 400n, lane: 2n }),
      at({ amount: -1n, lane: 3n }),
      at({ amount: 1n, lane: 1n << 63n }),
      at({ amount: 1000n, lane: 1n, nonce: 2n, merges: [{ lane: 1n, nonce: 2n }] }),
      at({ amount: 1000n, lane: 1n, nonce: 2n, merges: [{ lane: 7n, nonce: 2n }] }),
      at({ amount: 1000n, lane: 1n, nonce: 2n, merges: [{ lane: 2n, nonce: 1n }] }),
      at({ amount: 900n, lane: 1n, nonce: 2n, merges: [{ lane: 2n, nonce: 2n }] }),
      at({ amount: 400n, lane: 2n, nonce: 2n }),
    ),
    [16, 0, 16, 0, 16, 16, 16, 16, 16, 0, 16],
  )
  const state = chain.readChannel(channel.robust)
  t.equal(state?.toSend, 900n)
  t.strictSame(state?.lanes.get('1'), { redeemed: 900n, nonce: 2n })
  t.strictSame(state?.lanes.get('2'), { redeemed: 400n, nonce: 2n })
})

test('for another channel, garbage, and the layouts of other times', async (t) => {
  const { chain, payer, payee, channel } = await stage(t)
  const other = await openChannel(chain, payer, payee, 10n)
  const voucher = signVoucher(payer, { channelAddr: channel.robust, amount: 1n })
  const to = parseAddress(channel.robust) ?? idAddress(0n)
  const send = (params: Uint8Array): Promise<string> => payee.send({ to, method: 2n, params })
  t.strictSame(
    await exitCodes(
      chain,
      redeem(payee, other.robust, voucher),
      send(new Uint8Array()),
      send(Uint8Array.of(0x82, 0x00, 0x40)),
      send(encodeCbor([decodeCbor(encodeVoucher(voucher)), new Uint8Array(), new Uint8Array()])),
      send(Uint8Array.of(...encodeUpdateParams({ voucher, secret: new Uint8Array() }), 0)),
      payee.send({ to, method: 5n }),
      payee.send({ to, method: 1n }),
    ),
    [16, 16, 21, 21, 21, 22, 18],
  )
})

test('an extra call must succeed', async (t) => {
  const { chain, payer, payee, channel } = await stage(t)
  const bulletin = idAddress(BigInt(BULLETIN_ID))
  const at = (actor: typeof bulletin, nonce: bigint): Promise<string> => {
    const extra = { actor, method: 3n, data: new Uint8Array() }
    return redeem(
      payee,
      channel.robust,
      signVoucher(payer, { channelAddr: channel.robust, amount: 1n, nonce, extra }),
    )
  }
  t.strictSame(await exitCodes(chain, at(INIT_ACTOR, 1n), at(bulletin, 1n)), [22, 0])
})

test('settle, wait, collect: both are paid and the channel is gone', async (t) => {
  const { chain, payer, payee, stranger, channel } = await stage(t)
  const voucher = signVoucher(payer, { channelAddr: channel.robust, amount: 300n })
  t.strictSame(
    await exitCodes(chain, fundChannel(stranger, channel.id, 5n), redeem(payee, channel.robust, voucher)),
    [0, 0],
  )
  const to = parseAddress(channel.robust) ?? idAddress(0n)
  t.strictSame(
    await exitCodes(
      chain,
      collect(payer, channel.robust),
      payer.send({ to, method: 3n, params: Uint8Array.of(0x80) }),
      settle(stranger, channel.robust),
      settle(payer, channel.robust),
      settle(payer, channel.robust),
      collect(payer, channel.robust),
    ),
    [18, 16, 18, 0, 20, 18],
  )
  const settlingAt = chain.readChannel(channel.robust)?.settlingAt ?? 0n
  t.equal(settlingAt, BigInt(chain.head().height - 1 + 5))
  await chain.mine(Number(settlingAt) - chain.nextHeight - 1)
  t.strictSame(await exitCodes(chain, collect(payee, channel.robust)), [18], 'one epoch early')

  const before = [payer, payee].map(({ address }) => chain.readActor(address)?.balance ?? 0n)
  const late = signVoucher(payer, { channelAddr: channel.robust, amount: 400n, nonce: 2n })
  t.strictSame(await exitCodes(chain, redeem(payee, channel.robust, late)), [32])
  const fee = (before[1] ?? 0n) - (chain.readActor(payee.address)?.balance ?? 0n)
  t.strictSame(
    await exitCodes(chain, collect(stranger, channel.robust), collect(payer, channel.robust)),
    [18, 0],
  )
  t.equal(chain.readActor(payee.address)?.balance, (before[1] ?? 0n) - fee + 300n)
  t.equal(chain.readChannel(channel.robust), undefined)
  t.strictSame(await exitCodes(chain, settle(payer, channel.robust), settle(payer, channel.id)), [5, 5])
})

test('a voucher can move the settling later', async (t) => {
  const { chain, payer, payee, channel } = await stage(t)
  const at = (minSettleHeight: bigint, nonce: bigint): Promise<string> =>
    redeem(
      payee,
      channel.robust,
      signVoucher(payer, { channelAddr: channel.robust, amount: 1n, nonce, minSettleHeight }),
    )
  t.strictSame(await exitCodes(chain, at(50n, 1n)), [0])
  t.strictSame(await exitCodes(chain, settle(payer, channel.robust)), [0])
  t.match(chain.readChannel(channel.robust), { settlingAt: 50n, minSettleHeight: 50n })
  t.strictSame(await exitCodes(chain, at(60n, 2n), at(55n, 3n)), [0, 0])
  t.match(chain.readChannel(channel.robust), { settlingAt: 60n, minSettleHeight: 60n })
})

test('gas: too little fails, and is paid all the same', async (t) => {
  const { chain, payer, channel } = await stage(t)
  const before = chain.readActor(payer.address)?.balance ?? 0n
  t.strictSame(await exitCodes(chain, settle(payer, channel.robust, { gasLimit: 100_000n })), [7])
  t.equal((chain.readActor(payer.address)?.balance ?? 0n) < before, true)
  t.equal(chain.readChannel(channel.robust)?.settlingAt, 0n)
})
