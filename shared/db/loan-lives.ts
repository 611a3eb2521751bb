import { sql, type RawBuilder } from 'kysely'
import { jsonArrayFrom } from 'kysely/helpers/postgres'
import { parseUnits } from '../amounts.ts'
import type { Channel } from '../channels/channel.ts'
import type { ChannelRole } from '../channels/voucher-use.ts'
import type { LoanType } from '../events/chain-event.ts'
import type { LinkedChannel, LoanLife } from '../loan-life/life.ts'
import { LONGEST_SECRET_HEX } from '../loan-life/secrets.ts'
import type { Clock } from '../loan-life/times.ts'
import type { Db } from './connect.ts'

/** Anybody can make channels in a loan's name; those that the lookup shows come first. */
const MOST_CHANNELS = 10
const MOST_VOUCHERS = 500
const NEWEST_REDEMPTIONS = '$.redemptions[last - 1999 to last]'
/** JSON of a voucher with a hash of 32 bytes takes less; one with a longer hash can never be redeemed. */
const MOST_VOUCHER_BYTES = 8 * 1024
const FIL_DECIMALS = 18
const RATE_DECIMALS = 18

/** Fields of the contract's half that are read; a contract may hold bytes of any length in others. */
const PART_FIELDS = [
  'borrower',
  'lender',
  'secretHashA1',
  'secretHashB1',
  'secretA1',
  'secretB1',
  'loanExpiration',
  'acceptExpiration',
  'collateralAmount',
  'principalAmount',
  'interestRate',
  'paymentChannelId',
] as const
type PartField = (typeof PART_FIELDS)[number]

export interface FoundLife {
  life: LoanLife
  /** Vouchers that are known and not in `life`, because they are too many or too long. */
  vouchersLeftOut: number
}

export interface LifeRow extends Record<PartField, string | null> {
  network: string
  derivedState: string | null
  contractState: string
  filBorrower: string | null
  filLender: string | null
  namedChannel: string | null
  isBeginningKnown: boolean
  channels: ChannelRow[]
  clocks: ClockRow[]
}

interface ChannelRow {
  network: string
  role: ChannelRole
  shown: boolean
  partState: string | null
  vouchers: number
  state: Channel
}

interface ClockRow {
  network: string
  number: number
  timeS: number
  firstNumber: number | null
  firstTimeS: number | null
}

/** The statement that reads a loan, its channels and every network's clock at one moment, as a {@link LifeRow}. */
export function selectLoanLife(db: Pick<Db, 'selectFrom'>, loanType: LoanType, id: RawBuilder<string>) {
  const type = sql.lit(loanType)
  return db
    .selectFrom('projection.loans as loan')
    .where('loan.loan_type', '=', type)
    .where('loan.loan_id', '=', id)
    .select([
      'loan.network',
      'loan.derived_state as derivedState',
      'loan.fil_borrower as filBorrower',
      'loan.fil_lender as filLender',
      'loan.named_channel as namedChannel',
    ])
    .select(sql<string>`loan.evm_part->>'state'`.as('contractState'))
    .select(sql<boolean>`loan.opened_s is not null`.as('isBeginningKnown'))
    .select(PART_FIELDS.map((field) => partField(field).as(field)))
    .select((eb) => [
      jsonArrayFrom(
        eb
          .selectFrom('projection.channels as channel')
          .where('channel.loan_type', '=', type)
          .where('channel.loan_id', '=', id)
          .orderBy('channel.shown', 'desc')
          .orderBy('channel.id')
          .limit(sql.lit(MOST_CHANNELS))
          .select(['channel.network', 'channel.shown'])
          .select([
            sql<ChannelRole>`channel.role`.as('role'),
            sql<string>`channel.part->>'state'`.as('partState'),
            sql<number>`jsonb_array_length(channel.state->'vouchers')`.as('vouchers'),
            boundedState().as('state'),
          ]),
      ).as('channels'),
      jsonArrayFrom(
        eb
          .selectFrom('ledger.chain_position as clock')
          .where('clock.number', 'is not', null)
          .leftJoinLateral(
            (lateral) =>
              lateral
                .selectFrom('ledger.block_headers as header')
                .whereRef('header.network', '=', 'clock.network')
                .orderBy('header.network')
                .orderBy('header.number')
                .limit(sql.lit(1))
                .select(['header.number', 'header.time_s'])
                .as('first'),
            (join) => join.onTrue(),
          )
          .orderBy('clock.network')
          .select([
            'clock.network',
            sql<number>`clock.number`.as('number'),
            sql<number>`clock.time_s`.as('timeS'),
            'first.number as firstNumber',
            'first.time_s as firstTimeS',
          ]),
      ).as('clocks'),
    ])
}

/** A secret one byte longer than a channel takes is as good as the whole. */
function partField(field: PartField): RawBuilder<string | null> {
  return sql<string | null>`left(loan.evm_part->>${sql.lit(field)}, ${sql.lit(LONGEST_SECRET_HEX + 2)})`
}

function boundedState(): RawBuilder<Channel> {
  return sql<Channel>`channel.state || jsonb_build_object(
    'statements', '[]'::jsonb,
    'redemptions', jsonb_path_query_array(channel.state, ${sql.lit(NEWEST_REDEMPTIONS)}),
    'vouchers', (
      select coalesce(jsonb_agg(bounded.voucher order by bounded.place), '[]') from (
        select voucher, place from jsonb_array_elements(channel.state->'vouchers') with ordinality as one(voucher, place)
        where octet_length(voucher::text) <= ${sql.lit(MOST_VOUCHER_BYTES)}
        order by place desc limit ${sql.lit(MOST_VOUCHERS)}
      ) as bounded
    ))`
}

/** The loan of a row, with amounts in their smallest units. */
export function toLife(loanType: LoanType, row: LifeRow): FoundLife {
  const isErc20 = loanType === 'ERC20FIL'
  const { network, contractState, filBorrower, filLender, namedChannel, isBeginningKnown } = row
  const { borrower, lender, secretHashA1, secretHashB1, secretA1, secretB1, paymentChannelId } = row
  return {
    life: {
      ...{ loanType, network, contractState, borrower, lender, filBorrower, filLender, namedChannel },
      ...{ secretHashA1, secretHashB1, secretA1, secretB1, paymentChannelId, isBeginningKnown },
      state: row.derivedState ?? contractState,
      loanExpirationS: whole(row.loanExpiration),
      acceptExpirationS: whole(row.acceptExpiration),
      collateralAttoFil: isErc20 ? units(row.collateralAmount, FIL_DECIMALS) : null,
      principalAttoFil: isErc20 ? null : units(row.principalAmount, FIL_DECIMALS),
      interestRate: units(row.interestRate, RATE_DECIMALS),
      channels: row.channels.map(toChannel),
      clocks: row.clocks.map((clock) => toClock(clock, row.channels)),
    },
    vouchersLeftOut: row.channels.reduce(
      (sum, { vouchers, state }) => sum + vouchers - state.vouchers.length,
      0,
    ),
  }
}

function toChannel({ network, role, shown, partState, state }: ChannelRow): LinkedChannel {
  return { network, role, shown, state: partState ?? '0', channel: state }
}

/** Tipsets have a fixed distance, which a settlement names; blocks have one on average. */
function toClock(
  { network, number, timeS, firstNumber, firstTimeS }: ClockRow,
  channels: ChannelRow[],
): Clock {
  const own = channels.filter((channel) => channel.network === network)
  const named = own.find(({ state }) => state.settlement !== null)?.state.settlement?.epochDurationS
  const [first] = own
  const since =
    named === undefined && first !== undefined
      ? distance(number - first.state.createdEpoch, timeS - first.state.createdTimeS)
      : null
  const headers =
    firstNumber === null || firstTimeS === null ? null : distance(number - firstNumber, timeS - firstTimeS)
  return { network, height: number, timeS, secondsPerHeight: named ?? since ?? headers }
}

/** Seconds for each height, rounded to thousandths so that the same blocks give the same text. */
function distance(heights: number, seconds: number): number | null {
  return heights > 0 && seconds > 0 ? Math.round((seconds * 1000) / heights) / 1000 : null
}

function whole(text: string | null): bigint | null {
  return text === null ? null : BigInt(text)
}

function units(text: string | null, decimals: number): bigint | null {
  return text === null ? null : parseUnits(text, decimals)
}
