/** Takes the place of the package's default client in the build: every question here names its own. */
export const client = undefined
