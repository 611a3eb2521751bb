import t, { type Test } from 'tap'
import { nextAnswer, vouchersAnswer } from '../../api/schemas/loan-next.ts'
import { startAnvil } from '../../devnet/evm/anvil.ts'
import { contracts } from '../../devnet/evm/artifacts.ts'
import { deployContracts } from '../../devnet/evm/deploy.ts'
import type { Life } from '../../devnet/evm/loan-life.ts'
import { createPlayer } from '../../devnet/evm/player.ts'
import { createRpc, hex, RpcRefusal, type Rpc } from '../../devnet/evm/rpc.ts'
import { dispatch } from '../../devnet/filecoin/actors/dispatch.ts'
import { encodeUpdateParams } from '../../devnet/filecoin/codec.ts'
import { startLotus, type Lotus } from '../../devnet/filecoin/lotus.ts'
import { ActorExit } from '../../devnet/filecoin/vm/exit-codes.ts'
import { Machine } from '../../devnet/filecoin/vm/machine.ts'
import { SignatureChecks } from '../../devnet/filecoin/vm/signature-checks.ts'
import { ingestHandedIn } from '../../indexer/ingest/ingest-voucher.ts'
import { idAddress, parseAddress } from '../../shared/filecoin/address.ts'
import { blake2b256 } from '../../shared/filecoin/blake2b.ts'
import { sameBytes } from '../../shared/filecoin/bytes.ts'
import { COLLECT, PAYCH_UPDATE, SETTLE } from '../../shared/filecoin/payment-channel.ts'
import { voucherFromText } from '../../shared/filecoin/voucher.ts'
import { testApi, type TestApi } from '../helpers/api.ts'
import { indexerProcess } from '../helpers/indexer-process.ts'
import { untilBothSynced } from '../helpers/until-both-synced.ts'

/**
 * For loans in the middle of their lives, `next` is compared with what the contracts and the channel actor take: every
 * call of every party is tried on both chains without changing them. The rules are protocol.md's, not the service's.
 */

t.setTimeout(600_000)

const SETTLE_DELAY = 5
const EPOCH_S = 2
/** Loans at a time, and the number of blocks after which the play stops to be compared. */
const STOPS = [12, 25, 40]
const LOANS = 24
const SEED = Number(process.env['SEED'] ?? 20_261_128)

type Party = 'borrower' | 'lender'
type Role = 'collateral' | 'principal' | 'payback'
/** `action party` of everything that would be taken now. */
type Taken = Set<string>

interface Loan {
  life: Life
  secrets: Record<'a1' | 'b1', Uint8Array>
  loanId: string
  state: number
  /** Secrets that a chain shows. */
  isPublic: Record<'a1' | 'b1', boolean>
}

void t.test(`what next offers is what both chains take, seed ${SEED}`, async (t) => {
  const anvil = await startAnvil()
  t.teardown(() => anvil.stop())
  const deployment = await deployContracts(anvil.url)
  const lotus = await startLotus({
    ...{ tickMs: null, epochDurationS: EPOCH_S, settleDelayEpochs: SETTLE_DELAY, seed: String(SEED) },
  })
  t.teardown(() => lotus.stop())
  const handedIn: string[] = []
  const player = createPlayer({
    ...{ rpcUrl: anvil.url, deployment, seed: SEED, hostility: 0 },
    filecoin: {
      ...{ lotus, settleDelayEpochs: SETTLE_DELAY, epochDurationS: EPOCH_S, confidence: 1 },
      handIn: (voucher) => handedIn.push(voucher),
    },
  })
  const api = await testApi(t)
  const indexer = await indexerProcess(t, {
    databaseUrl: api.url,
    networks: {
      evm: [
        {
          ...{ blockchain: 'DEVNET', networkId: '31337', rpcUrls: [anvil.url], pollIntervalMs: 50 },
          erc20Loans: { address: deployment.erc20Loans },
          erc20CollateralLock: { address: deployment.erc20CollateralLock },
        },
      ],
      filecoin: [{ networkId: 'testnet', rpcUrls: [lotus.url], pollIntervalMs: 50 }],
    },
  })
  const rpc = createRpc(anvil.url)
  const tried = { taken: 0, refused: 0 }
  const actions = new Set<string>()
  for (const stop of STOPS) {
    let blocks = 0
    await player
      .playLoans(LOANS, {
        between: () =>
          ++blocks < stop ? Promise.resolve() : Promise.reject(new Error('a stop in the middle')),
      })
      .catch((error: unknown) => t.match(error, /a stop in the middle/))
    indexer.start()
    await untilBothSynced(api.db, { evmUrl: anvil.url, lotusUrl: lotus.url }, indexer)
    // A stopped indexer leaves the answers as of these very heads.
    await indexer.stop()
    for (const voucher of handedIn.splice(0))
      await ingestHandedIn(api.db, { network: 'filecoin:testnet', item: { voucher } }, 'queue')
    for (const life of player.lives) {
      if (life.loanId === undefined || life.half === undefined) continue
      const loan = await loanOf(rpc, deployment, life)
      const one = await compare(t, { api, rpc, lotus, deployment }, loan)
      if (one === null) continue
      tried.taken += one.taken
      tried.refused += one.refused
      for (const action of one.actions) actions.add(action)
    }
  }
  t.comment(
    `${tried.taken} offers were taken, ${tried.refused} others refused: ${[...actions].sort().join(', ')}`,
  )
  t.ok(tried.taken + tried.refused >= 200)
  t.ok(actions.size >= 12, `${actions.size} kinds of actions were offered`)
})

interface Ground {
  api: TestApi
  rpc: Rpc
  lotus: Lotus
  deployment: Record<Life['market'], string>
}

async function loanOf(rpc: Rpc, deployment: Ground['deployment'], life: Life): Promise<Loan> {
  const abi = contracts[life.market].interface
  const data = abi.encodeFunctionData('fetchLoan', [life.loanId])
  const answer = await rpc.call(hex, 'eth_call', { to: deployment[life.market], data }, 'latest')
  const { secrets, state } = abi.decodeFunctionResult('fetchLoan', answer) as unknown as {
    secrets: [string, string]
    state: bigint
  }
  const isCancelled = life.market === 'erc20CollateralLock' && state === 4n
  return {
    ...{ life, loanId: String(life.loanId), secrets: life.secrets, state: Number(state) },
    // cancelBorrowRequest shows A1 in its event and does not store it.
    isPublic: { a1: secrets[0] !== '0x' || isCancelled, b1: secrets[1] !== '0x' },
  }
}

async function compare(
  t: Test,
  ground: Ground,
  loan: Loan,
): Promise<{ taken: number; refused: number; actions: string[] } | null> {
  const { app } = ground.api
  const path = `/api/loan/${loan.life.market === 'erc20Loans' ? 'ERC20' : 'FIL'}/${loan.loanId}`
  const answer = await app.inject(`${path}/next`)
  const { actions } = nextAnswer.parse(answer.json()).payload
  const isNow = ({ notBefore, basis }: (typeof actions)[number]): boolean => {
    if (notBefore === null || basis === null) return true
    return 'epoch' in notBefore && 'epoch' in basis
      ? notBefore.epoch <= basis.epoch + 1
      : notBefore.time <= basis.time
  }
  const offered = new Set(actions.filter(isNow).map(({ action, actor }) => `${action} ${actor}`))
  const { payload: vouchers } = vouchersAnswer.parse((await app.inject(`${path}/vouchers`)).json())
  // A redemption shows its secret, whether or not the contract has it.
  for (const { redeemed, secretHash } of vouchers) {
    if (redeemed === null) continue
    if (secretHash === loan.life.hashes.a1) loan.isPublic.a1 = true
    if (secretHash === loan.life.hashes.b1) loan.isPublic.b1 = true
  }
  const evm = await takenByContract(ground, loan)
  const filecoin: Taken = new Set()
  for (const role of ['collateral', 'principal', 'payback'] as const) {
    const own = vouchers.filter((voucher) => voucher.role === role && voucher.channel.shown)
    const robust = await shownChannel(ground, path, role)
    if (robust === null) continue
    const texts = own.flatMap(({ text, use, signedBy }) => (text === null ? [] : [{ text, use, signedBy }]))
    for (const name of takenByChannel(ground.lotus, loan, role, robust, texts)) filecoin.add(name)
  }
  const wanted = new Set([...evm.taken, ...filecoin])
  const said = [...offered].filter((name) => !/^(create|sign)/.test(name))
  const what = `${path} (${loan.life.plan}, state ${loan.state})`
  t.same(
    said.filter((name) => !evm.skipped.has(name)).sort(),
    [...wanted].filter((name) => !evm.skipped.has(name)).sort(),
    what,
  )
  return {
    taken: said.length,
    refused: evm.tried + 4 - wanted.size,
    actions: said.map((name) => name.split(' ')[0] ?? ''),
  }
}

/** Arguments of each call but the loan's id; the secret that a call needs is its own or public. */
const CALLS: Record<Life['market'], [name: string, by: Party, secret: 'a1' | 'b1' | null][]> = {
  erc20Loans: [
    ['approveRequest', 'lender', null],
    ['withdraw', 'borrower', 'a1'],
    ['payback', 'borrower', null],
    ['acceptRepayment', 'lender', 'b1'],
    ['refundPayback', 'borrower', null],
    ['cancelLoan', 'lender', 'b1'],
  ],
  erc20CollateralLock: [
    ['acceptOffer', 'borrower', null],
    ['unlockCollateral', 'borrower', 'b1'],
    ['seizeCollateral', 'lender', 'a1'],
    ['cancelBorrowRequest', 'borrower', 'a1'],
  ],
}

async function takenByContract({ rpc, deployment }: Ground, loan: Loan) {
  const { life, state } = loan
  const { market, loanId } = life
  const taken: Taken = new Set()
  const skipped: Taken = new Set()
  const abi = contracts[market].interface
  for (const [name, by, secret] of CALLS[market]) {
    const owner = secret === 'a1' ? 'borrower' : 'lender'
    if (secret !== null && owner !== by && !loan.isPublic[secret]) continue
    // Both need a channel, and a repayment is only accepted where there is one: docs/api.md.
    if (name === 'approveRequest' || name === 'acceptOffer') skipped.add(`${name} ${by}`)
    if (name === 'acceptRepayment' && state !== 3) continue
    const { borrower, lender, filBorrower, filLender, hashes, paymentChannelId, filAmount } = life
    const args =
      name === 'approveRequest'
        ? [loanId, borrower, filBorrower, hashes.a1, paymentChannelId, filAmount]
        : name === 'acceptOffer'
          ? [loanId, lender, filLender, hashes.b1, paymentChannelId, filAmount]
          : secret === null
            ? [loanId]
            : [loanId, loan.secrets[secret]]
    const call = { from: life[by], to: deployment[market], data: abi.encodeFunctionData(name, args) }
    if (await isTaken(rpc.call(hex, 'eth_call', call, 'latest'))) taken.add(`${name} ${by}`)
  }
  return { taken, skipped, tried: CALLS[market].length }
}

async function isTaken(call: Promise<unknown>): Promise<boolean> {
  try {
    await call
    return true
  } catch (error) {
    if (error instanceof RpcRefusal) return false
    throw error
  }
}

async function shownChannel({ api }: Ground, path: string, role: Role): Promise<string | null> {
  const part = { collateral: 'filCollateral', principal: 'filLoan', payback: 'filPayback' }[role]
  const { payload } = (await api.app.inject(path)).json<{
    payload: Record<string, { paymentChannelAddress?: string } | undefined>
  }>()
  return payload[part]?.paymentChannelAddress ?? null
}

const NAMES: Record<Role, string> = { collateral: 'Collateral', principal: 'Principal', payback: 'Payback' }
const CHECKS = new SignatureChecks()

/** Runs each message on a copy of the state after the last executed tipset. */
function takenByChannel(
  lotus: Lotus,
  loan: Loan,
  role: Role,
  robust: string,
  vouchers: { text: string; use: string; signedBy: Party | null }[],
): string[] {
  const last = lotus.chain.head().parent
  const to = parseAddress(robust)
  const channel = to === null ? undefined : last?.state?.find(to)?.channel
  if (last?.state == null || to === null || channel == null) return []
  const { state } = last
  const funder: Party = role === 'principal' ? 'lender' : 'borrower'
  const run = (by: Party, method: bigint, params: Uint8Array): boolean => {
    const id = by === funder ? channel.from : channel.to
    const around = { epoch: last.height + 1, settleDelayEpochs: SETTLE_DELAY, checks: CHECKS, dispatch }
    const gas = { gasLimit: 1n, gasFeeCap: 1n, gasPremium: 1n }
    const message = {
      version: 0,
      to,
      from: idAddress(BigInt(id)),
      nonce: 0n,
      value: 0n,
      ...gas,
      method,
      params,
    }
    try {
      new Machine(state, message, around).send(id, to, 0n, method, params)
      return true
    } catch (error) {
      if (error instanceof ActorExit) return false
      throw error
    }
  }
  const names = (['borrower', 'lender'] as const).flatMap((by) => {
    const secrets = [
      by === 'borrower' ? 'a1' : 'b1',
      ...(loan.isPublic.a1 ? ['a1'] : []),
      ...(loan.isPublic.b1 ? ['b1'] : []),
    ]
    const redeemable = vouchers.filter(({ text, signedBy }) => {
      const voucher = voucherFromText(text)
      const name = (['a1', 'b1'] as const).find((one) =>
        sameBytes(blake2b256(loan.secrets[one]), voucher.secretHash),
      )
      if (name === undefined || !secrets.includes(name) || signedBy === by) return false
      return run(by, PAYCH_UPDATE, encodeUpdateParams({ voucher, secret: loan.secrets[name] }))
    })
    const uses = new Set(
      redeemable.map(({ use }) =>
        use === 'pay'
          ? role === 'principal'
            ? 'Withdraw'
            : 'Payback'
          : use === 'seize'
            ? 'Seize'
            : 'Unlock',
      ),
    )
    return [
      ...[...uses].map((use) => `redeem${use}Voucher ${by}`),
      ...(run(by, SETTLE, new Uint8Array()) ? [`settle${NAMES[role]} ${by}`] : []),
      ...(run(by, COLLECT, new Uint8Array()) ? [`collect${NAMES[role]} ${by}`] : []),
    ]
  })
  return names
}
