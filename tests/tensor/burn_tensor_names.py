"""The public names of Burn 0.22.1's tensors, as data: `burn-tensor`, `burn-std` (data), `burn-linalg`,
`burn-signal`, `Device`.

A name that a class or module of ours has needs no more. What has another name here is in OTHERWISE, what is left out in
LEFT_OUT, with the reason; both by "Owner.name".
"""

from __future__ import annotations

NAMES: dict[str, str] = {
    "Tensor": """
        extract inplace rank dtype can_mut empty empty_like zeros zeros_like ones ones_like full full_like dims
        shape reshape transpose t swap_dims permute movedim flip flatten squeeze squeeze_dim squeeze_dims unsqueeze
        unsqueeze_dim unsqueeze_dims roll_dim roll slice slice_assign slice_fill slice_dim select_dim device
        to_device select select_assign mask_where mask_fill mask_select mask_select_async gather scatter scatter_nd
        gather_nd into_data try_into_data to_data try_to_data into_data_async to_data_async to_data_as
        try_to_data_as try_to_vec_as to_data_dtype try_to_data_dtype into_data_as try_into_data_as try_into_vec_as
        into_data_dtype try_into_data_dtype from_data repeat_dim repeat equal not_equal equal_scalar
        not_equal_scalar equal_elem not_equal_elem cat stack iter_dim narrow chunk split split_with_sizes any
        any_dim all all_dim into_scalar try_into_scalar into_scalar_async try_into_scalar_async expand unfold
        take into_bridge from_bridge from_dispatch into_dispatch try_into_primitive from_primitive
    """,
    "NumericTensor": """
        add add_scalar sub sub_scalar div div_scalar remainder remainder_scalar mul mul_scalar neg sign mean sum
        mean_dim mean_dims sum_dim sum_dims sum_dims_squeeze prod prod_dim prod_dims cumsum cumprod abs triu tril
        powi_scalar bool random matmul dot eye sort sort_descending sort_with_indices
        sort_descending_with_indices argsort argsort_descending topk topk_with_indices one_hot one_hot_fill greater
        greater_equal lower lower_equal greater_scalar greater_equal_scalar lower_scalar lower_equal_scalar
        greater_elem greater_equal_elem lower_elem lower_equal_elem argmax argtopk max max_dim_with_indices max_abs
        max_pair max_abs_dim max_abs_dims argmin min min_dim min_dims min_dim_with_indices min_pair clamp clamp_min
        clamp_max cummin cummax max_dim max_dims einsum pad
    """,
    "FloatTensor": """
        erf hypot recip deg2rad rad2deg round floor ceil from_floats int random_like var var_bias var_mean
        var_mean_bias median median_with_indices cast detach require_grad is_require_grad set_require_grad cov
        quantize quantize_dynamic dequantize is_close all_close is_nan contains_nan is_inf is_finite grid_sample_2d
        cross powf powf_scalar categorical is_distributed set_distributed square exp log1p log sqrt cos sin tan
        cosh sinh tanh acos acosh asin asinh atan atanh atan2 powi fmod fmod_scalar trunc backward grad grad_remove
        grad_replace is_tracked is_autodiff inner without_autodiff autodiff from_inner
        gradient_checkpointing_strategy with_gradient_checkpointing_strategy
    """,
    "IntTensor": """
        arange arange_step from_ints float cartesian_grid square bitwise_and bitwise_or bitwise_xor bitwise_not
        bitwise_and_scalar bitwise_or_scalar bitwise_xor_scalar bitwise_left_shift bitwise_right_shift
        bitwise_left_shift_scalar bitwise_right_shift_scalar cast powi
    """,
    "BoolTensor": """
        from_bool int float cast bool_not bool_and bool_or bool_xor nonzero nonzero_async argwhere argwhere_async
        triu_mask tril_mask diag_mask
    """,
    "TensorData": """
        new quantized from_bytes from_bytes_vec try_from_bytes try_from_bytes_vec shape dtype bytes into_parts
        with_bytes_mut as_slice as_mut_slice rank num_elements random zeros ones full full_dtype as_bytes
        into_bytes try_to_vec_as try_into_vec_as to_vec into_vec try_to_vec try_into_vec iter convert convert_dtype
        try_cast_as try_cast try_view view try_mut_view mut_view assert_eq assert_approx_eq assert_within_range
        assert_within_range_inclusive
    """,
    "Tolerance": """
        strict balanced permissive rel_abs relative absolute set_relative set_half_precision_relative
        set_single_precision_relative set_double_precision_relative set_absolute set_half_precision_absolute
        set_single_precision_absolute set_double_precision_absolute approx_eq
    """,
    "Transaction": """
        register execute try_execute execute_async
    """,
    "activation": """
        relu hardtanh tanhshrink relu6 leaky_relu gelu gelu_approximate prelu softmax softmin softplus
        softplus_with_threshold quiet_softmax log_softmax sigmoid hard_sigmoid log_sigmoid silu hard_swish mish
        tanh elu celu selu thresholded_relu threshold glu softsign hard_shrink soft_shrink shrink
    """,
    "functional": """
        batch_norm batch_norm_train ctc_loss embedding conv1d conv2d conv3d deform_conv2d conv_transpose1d
        conv_transpose2d conv_transpose3d unfold4d fold4d max_pool1d max_pool2d avg_pool2d avg_pool1d
        max_pool1d_with_indices max_pool2d_with_indices adaptive_avg_pool2d adaptive_avg_pool3d adaptive_avg_pool1d
        interpolate linear attention attention_fallback conv2d_weight_backward avg_pool2d_backward
        max_pool2d_with_indices_backward layer_norm cross_entropy_with_logits affine_grid_2d meshgrid
        meshgrid_stack
    """,
    "stats": """
        var var_with_mean var_bias var_with_mean_bias var_with_mean_n median median_with_indices
    """,
    "linalg": """
        cosine_similarity det diag lu matvec outer outer_dim qr svd trace vector_norm_dims vector_norm lp_norm_dims
        lp_norm vector_normalize l0_norm_dims l0_norm l1_norm_dims l1_norm l2_norm_dims l2_norm max_abs_norm_dims
        max_abs_norm min_abs_norm_dims min_abs_norm
    """,
    "signal": """
        rfft irfft cfft stft istft hann_window hamming_window blackman_window StftOptions
    """,
    "Device": """
        new as_dispatch capture capture_scope cpu cuda rocm flex ndarray libtorch libtorch_cuda libtorch_mps
        libtorch_vulkan wgpu vulkan metal webgpu autodiff gradient_checkpointing_strategy gradient_checkpointing
        without_autodiff with_autodiff_context_from inner sync flush profile profile_with seed is_autodiff
        supports_dtype memory_persistent_allocations memory_cleanup memory_pool_report memory_pool_usage staging
        settings configure enumerate identity enumerate_physical performance_stats
    """,
}
"""By the class or module that has them (here: Device is Backend)."""

_ASYNC = "what is read from a device is waited for: nothing here is asynchronous"
_RESULT = "errors are exceptions: there is no second form of a method that returns them"
_POINTER = "handles of Burn's backends; a tensor here shows its primitive, its table and its backend as slots"
_OWNED = "Rust's ownership: here a tensor is a value that nobody changes"
_DEVICE = "there are the backends NumPy and CuPy; others would be another class, not a constructor"
_COLLECTIVE = "training on several devices is not part of minburn"
_CAPTURE = "the capture device, which records and replays the ops of a step, is not part of minburn"
_MEMORY = "the memory of a GPU is managed by CuPy"

OTHERWISE: dict[str, str] = {
    **{f"Tensor.{name}_elem": f"tensor.Tensor.{name}_scalar" for name in ("equal", "not_equal")},
    **{
        f"NumericTensor.{name}_elem": f"tensor.NumericTensor.{name}_scalar"
        for name in ("greater", "greater_equal", "lower", "lower_equal")
    },
    "Tensor.full_like": "tensor.NumericTensor.full_like",
    **{f"Tensor.{form}_data_{how}": "tensor.TensorData.cast" for form in ("to", "into") for how in ("as", "dtype")},
    "FloatTensor.quantize": "tensor.FloatTensor.quantize_dynamic",
    "FloatTensor.dequantize": "tensor.TensorData.dequantize",
    "FloatTensor.gradient_checkpointing_strategy": "backends.Autodiff",
    "FloatTensor.with_gradient_checkpointing_strategy": "tensor.Tensor.to_device",
    "IntTensor.arange_step": "tensor.Tensor.arange",
    "BoolTensor.from_bool": "tensor.Tensor.from_data",
    "TensorData.new": "tensor.TensorData",
    "TensorData.from_bytes": "tensor.TensorData",
    "TensorData.from_bytes_vec": "tensor.TensorData",
    "TensorData.quantized": "tensor.TensorData",
    "TensorData.full_dtype": "tensor.TensorData.full",
    "TensorData.random": "tensor.Tensor.random",
    "TensorData.as_slice": "tensor.TensorData.numpy",
    "TensorData.view": "tensor.TensorData.numpy",
    "TensorData.iter": "tensor.TensorData.numpy",
    "TensorData.to_vec": "tensor.TensorData.numpy",
    "TensorData.into_vec": "tensor.TensorData.numpy",
    "TensorData.as_bytes": "tensor.TensorData.bytes",
    "TensorData.into_bytes": "tensor.TensorData.bytes",
    "TensorData.into_parts": "tensor.TensorData.bytes",
    "TensorData.convert": "tensor.TensorData.cast",
    "TensorData.convert_dtype": "tensor.TensorData.cast",
    "TensorData.try_cast": "tensor.TensorData.cast",
    "TensorData.try_cast_as": "tensor.TensorData.cast",
    "functional.attention_fallback": "backends.default.attention",
    "functional.conv2d_weight_backward": "backends.module_ops.ModuleOps.conv2d_weight_backward",
    "functional.avg_pool2d_backward": "backends.module_ops.ModuleOps.avg_pool2d_backward",
    "functional.max_pool2d_with_indices_backward": "backends.module_ops.ModuleOps.max_pool2d_with_indices_backward",
    "functional.meshgrid": "tensor.Tensor.meshgrid",
    "functional.meshgrid_stack": "tensor.Tensor.meshgrid_stack",
    "stats.var": "tensor.FloatTensor.var",
    "stats.var_with_mean": "tensor.FloatTensor.var_mean",
    "stats.var_bias": "tensor.FloatTensor.var_bias",
    "stats.var_with_mean_bias": "tensor.FloatTensor.var_mean_bias",
    "stats.var_with_mean_n": "backends.base.FloatTensorOps.var_dim",
    "stats.median": "tensor.FloatTensor.median",
    "stats.median_with_indices": "tensor.FloatTensor.median_with_indices",
    "Device.new": "backends.NumPy",
    "Device.cpu": "backends.NumPy",
    "Device.flex": "backends.NumPy",
    "Device.ndarray": "backends.NumPy",
    "Device.autodiff": "backends.Autodiff",
    "Device.gradient_checkpointing": "backends.Autodiff",
    "Device.gradient_checkpointing_strategy": "backends.Autodiff",
    "Device.without_autodiff": "backends.Backend.inner",
    "Device.seed": "backends.NumPy",
    "Device.settings": "backends.Backend.float_dtype",
    "Device.configure": "backends.Backend.with_dtypes",
    "Device.identity": "backends.Backend.device",
}
"""By Burn's name: ours, below `minburn`."""

LEFT_OUT: dict[str, str] = {
    **{f"Tensor.{name}_async": _ASYNC for name in ("mask_select", "into_data", "to_data", "into_scalar")},
    **{
        f"Tensor.try_{name}": _RESULT
        for name in (
            *("into_data", "to_data", "to_data_as", "to_vec_as", "to_data_dtype", "into_data_as", "into_vec_as"),
            *("into_data_dtype", "into_scalar"),
        )
    },
    "Tensor.try_into_scalar_async": _ASYNC,
    **{f"Tensor.{name}": _OWNED for name in ("extract", "inplace", "can_mut")},
    **{
        f"Tensor.{name}": _POINTER
        for name in (
            *("into_bridge", "from_bridge", "from_dispatch", "into_dispatch"),
            *("try_into_primitive", "from_primitive"),
        )
    },
    **{f"FloatTensor.{name}": _COLLECTIVE for name in ("is_distributed", "set_distributed")},
    **{f"BoolTensor.{name}_async": _ASYNC for name in ("nonzero", "argwhere")},
    **{
        f"TensorData.try_{name}": _RESULT
        for name in (
            *("from_bytes", "from_bytes_vec", "to_vec_as", "into_vec_as", "to_vec", "into_vec"),
            *("view", "mut_view"),
        )
    },
    **{f"TensorData.{name}": "data never change" for name in ("with_bytes_mut", "as_mut_slice", "mut_view")},
    "Transaction.try_execute": _RESULT,
    "Transaction.execute_async": _ASYNC,
    **{f"Device.{name}": _CAPTURE for name in ("capture", "capture_scope")},
    **{
        f"Device.{name}": _DEVICE
        for name in (
            *("cuda", "rocm", "libtorch", "libtorch_cuda", "libtorch_mps", "libtorch_vulkan", "wgpu", "vulkan"),
            *("metal", "webgpu", "enumerate", "enumerate_physical", "supports_dtype"),
        )
    },
    **{f"Device.{name}": _POINTER for name in ("as_dispatch", "with_autodiff_context_from")},
    **{
        f"Device.{name}": _MEMORY
        for name in (
            *("memory_persistent_allocations", "memory_cleanup", "memory_pool_report", "memory_pool_usage"),
            *("staging", "flush"),
        )
    },
    **{
        f"Device.{name}": "Python's own profilers see every op"
        for name in ("profile", "profile_with", "performance_stats")
    },
}
"""By Burn's name: why there is no such thing here."""
