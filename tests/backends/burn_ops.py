"""The ops of Burn 0.22.1's backend traits, as data, and what became of those that are no op here.

`B::float_add` is `backend.floats.add`: the trait's prefix is the table. What Burn gives a default body, and here can be
composed of other ops without loss, is no op: the tensor has it.
"""

from __future__ import annotations

BURN_OPS: dict[str, str] = {
    "floats": """
        from_data random zeros ones full into_data to_device into_int empty repeat_dim add add_scalar clamp_min
        clamp_max clamp sub sub_scalar mul mul_scalar div div_scalar remainder remainder_scalar matmul cross neg
        recip transpose swap_dims permute flip reshape gather scatter scatter_nd gather_nd select select_assign
        slice slice_assign mask_where mask_fill mask_select equal not_equal equal_elem not_equal_elem greater
        greater_elem greater_equal greater_equal_elem lower lower_elem lower_equal lower_equal_elem detach
        set_require_grad is_require_grad sum sum_dim sum_dims prod prod_dim mean mean_dim cumsum cumprod cummin
        cummax cast exp log log1p powf powi powi_scalar powi_scalar_impl powf_scalar powf_scalar_impl sqrt hypot
        cos sin tan cosh sinh tanh acos acosh asin asinh atan atanh atan2 round floor ceil trunc erf cat argmax
        argtopk topk topk_with_indices argmin max max_dim max_dim_with_indices min min_dim min_dim_with_indices any
        any_dim all all_dim sign expand sort sort_with_indices argsort grid_sample_2d unfold pad is_nan is_inf abs
        max_abs max_abs_dim
    """,
    "ints": """
        from_data random zeros ones full into_data to_device empty repeat_dim add add_scalar clamp_min clamp_max
        clamp sub sub_scalar mul mul_scalar div div_scalar remainder remainder_scalar matmul neg transpose
        swap_dims permute flip reshape gather scatter scatter_nd gather_nd select select_assign slice slice_assign
        mask_where mask_fill mask_select equal not_equal equal_elem not_equal_elem greater greater_elem
        greater_equal greater_equal_elem lower lower_elem lower_equal lower_equal_elem sum sum_dim prod prod_dim
        mean mean_dim cumsum cumprod cummin cummax cast powi powi_scalar powi_scalar_impl cat argmax argtopk topk
        topk_with_indices argmin max max_dim max_dim_with_indices min min_dim min_dim_with_indices any any_dim all
        all_dim sign expand sort sort_with_indices argsort unfold pad into_float square arange_step arange
        bitwise_and bitwise_and_scalar bitwise_xor bitwise_xor_scalar bitwise_not bitwise_left_shift
        bitwise_left_shift_scalar bitwise_right_shift bitwise_right_shift_scalar abs max_abs max_abs_dim bitwise_or
        bitwise_or_scalar
    """,
    "bools": """
        from_data zeros ones into_data to_device into_int empty repeat_dim transpose swap_dims permute flip reshape
        gather select slice slice_assign mask_where mask_fill mask_select equal not_equal equal_elem not_equal_elem
        cat any any_dim all all_dim expand unfold into_float not and xor argwhere
        scatter_or select_or or
    """,
    "modules": """
        batch_norm batch_norm_train batch_norm_train_backward embedding embedding_backward linear linear_x_backward
        linear_weight_backward linear_bias_backward conv1d conv1d_x_backward conv1d_weight_backward
        conv1d_bias_backward conv2d conv2d_x_backward conv2d_weight_backward conv2d_bias_backward deform_conv2d
        deform_conv2d_backward conv3d conv3d_x_backward conv3d_weight_backward conv3d_bias_backward
        conv_transpose1d conv_transpose1d_x_backward conv_transpose1d_weight_backward
        conv_transpose1d_bias_backward conv_transpose2d conv_transpose2d_x_backward
        conv_transpose2d_weight_backward conv_transpose2d_bias_backward conv_transpose3d
        conv_transpose3d_x_backward conv_transpose3d_weight_backward conv_transpose3d_bias_backward unfold4d fold4d
        avg_pool1d avg_pool1d_backward avg_pool2d avg_pool2d_backward adaptive_avg_pool2d
        adaptive_avg_pool2d_backward adaptive_avg_pool3d adaptive_avg_pool3d_backward adaptive_avg_pool1d
        adaptive_avg_pool1d_backward max_pool1d max_pool1d_with_indices max_pool1d_with_indices_backward max_pool2d
        max_pool2d_with_indices max_pool2d_with_indices_backward interpolate interpolate_backward attention
        layer_norm ctc_loss has_ctc_loss_backward ctc_loss_backward
    """,
    "activations": """
        leaky_relu relu relu_backward gelu prelu gelu_backward sigmoid sigmoid_backward hard_sigmoid log_sigmoid
        softmax log_softmax softmin log_sigmoid_backward
    """,
}
"""By table."""

RENAMED = {"not": "not_", "and": "and_", "or": "or_"}
"""Python has these words for itself."""

_IMPL = "a step between Rust's default and override; here a backend overrides the op itself"

ELSEWHERE: dict[str, str] = {
    "to_device": "tensor.Tensor.to_device",
    "cross": "tensor.FloatTensor.cross",
    "transpose": "tensor.Tensor.transpose",
    "scatter_nd": "tensor.Tensor.scatter_nd",
    "gather_nd": "tensor.Tensor.gather_nd",
    "mask_select": "tensor.Tensor.mask_select",
    "scatter_or": "backends.base.BoolTensorOps.scatter",
    "select_or": "backends.base.BoolTensorOps.select_assign",
    "set_require_grad": "backends.autodiff.math.AutodiffFloats.set_require_grad",
    "is_require_grad": "backends.autodiff.math.AutodiffFloats.is_require_grad",
    "powi": "tensor.FloatTensor.powi",
    "argtopk": "tensor.NumericTensor.argtopk",
    "topk": "tensor.NumericTensor.topk",
    "topk_with_indices": "tensor.NumericTensor.topk_with_indices",
    "max_dim_with_indices": "tensor.NumericTensor.max_dim_with_indices",
    "min_dim_with_indices": "tensor.NumericTensor.min_dim_with_indices",
    "max_abs": "tensor.NumericTensor.max_abs",
    "max_abs_dim": "tensor.NumericTensor.max_abs_dim",
    "sort": "tensor.NumericTensor.sort",
    "sort_with_indices": "tensor.NumericTensor.sort_with_indices",
    "grid_sample_2d": "tensor.functional.grid_sample_2d",
    "unfold": "tensor.Tensor.unfold",
    "square": "tensor.NumericTensor.square",
    "arange_step": "tensor.Tensor.arange",
    **{
        f"bitwise_{name}_scalar": f"tensor.IntTensor.bitwise_{name}_scalar"
        for name in ("and", "or", "xor", "left_shift", "right_shift")
    },
    "empty": "tensor.Tensor.empty",
    "ctc_loss": "tensor.functional.ctc_loss",
    "deform_conv2d_backward": "backends.module_ops.ModuleOps.deform_conv2d",
}
"""By Burn's name: where it is, below `minburn`."""

LEFT_OUT: dict[str, str] = {
    "powi_scalar_impl": _IMPL,
    "powf_scalar_impl": _IMPL,
    "has_ctc_loss_backward": "ctc_loss is composed: its gradient is that of its parts",
    "ctc_loss_backward": "ctc_loss is composed: its gradient is that of its parts",
}
"""By Burn's name: why there is none."""
