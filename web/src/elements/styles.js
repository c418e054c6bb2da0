/** The styles of all elements. The build puts the extracted style sheet here. */
export const styles = 'ATTN_FIGURES_STYLES';
