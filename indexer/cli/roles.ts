import { loadRolePasswords } from '../../shared/config/config.ts'
import { grantRole, hasRole, putRole, type RoleProgram } from '../../shared/db/roles.ts'
import { ConfigError } from '../../shared/errors.ts'
import { withDatabase, type OutputOptions } from './context.ts'

/** Each program's role; a program without one gets no rights. */
type RoleNames = Partial<Record<RoleProgram, string>>

const PROGRAMS: Record<RoleProgram, string> = {
  indexer: 'the indexer',
  api: 'the API',
  producer: 'a producer of vouchers',
  intake: 'the intake',
}

/**
 * Creates the named roles whose passwords are given, and grants every named role only the rights its program needs.
 * Throws a ConfigError when a role does not exist and has no password.
 */
export async function runRoles(options: OutputOptions & RoleNames): Promise<void> {
  const { json, ...names } = options
  const passwords = loadRolePasswords()
  await withDatabase(
    async ({ db }) => {
      for (const [program, role] of entriesOf(names)) {
        const password = passwords[program]
        if (password !== undefined) await putRole(db, role, password)
        else if (!(await hasRole(db, role))) throw missingRole(program, role)
        await grantRole(db, program, role)
        if (json !== true) console.log(`${role}: may do what ${PROGRAMS[program]} needs`)
      }
      if (json === true) console.log(JSON.stringify(names))
    },
    { writes: true },
  )
}

function entriesOf(names: RoleNames): [RoleProgram, string][] {
  return (['indexer', 'api', 'producer', 'intake'] as const).flatMap((program) => {
    const role = names[program]
    return role === undefined ? [] : [[program, role] satisfies [RoleProgram, string]]
  })
}

function missingRole(program: RoleProgram, role: string): ConfigError {
  return new ConfigError(
    `there is no role ${role}: create it (create role … login password …), or set ${program.toUpperCase()}_PASSWORD`,
  )
}
