/** HTML that `penstock docs generate` made; texts of users never come here. */
export function Html({ html, name = "prose" }: { readonly html: string; readonly name?: string }) {
  if (!html) return null;
  return <div class={name} dangerouslySetInnerHTML={{ __html: html }} />;
}

/** One line of code, with the HTML of its colours. */
export function CodeLine({ html }: { readonly html: string }) {
  return <code dangerouslySetInnerHTML={{ __html: html || " " }} />;
}
